// cause.h: why nothing was done for the job at some moment of a step. Ids are those of the contract.
//
// Room 3.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hostprobe::analysis {

enum class Cause : std::uint8_t {
  kGpuBound,    // something was: the GPU worked, or without one the program itself
  kTransfer,    // all ranks had come, and data were moved between them
  kUnevenWork,  // a rank without a GPU computed longer than the one that waits for it
  kGcPause,
  kGilContention,
  kLockContention,
  kDataloaderWait,
  kFileIo,
  kPythonOverhead,
  kHostWork,
  kLaunchBound,
  kSyncCalls,
  kAllocStall,
  kPageableCopy,
  kJitCompile,
  kCpuContention,
  kCpuThrottle,
  kProcessStopped,
  kLowFrequency,
  kIdleStateExit,
  kProxyDelay,
  kSlowGpu,
  kCommBandwidth,
  kWaitsForRank,
  kUnexplained,
};
inline constexpr std::size_t kCauses = static_cast<std::size_t>(Cause::kUnexplained) + 1;

// kTransfer is part of "gpu_bound": by itself it is no fault. kUnevenWork is "host_work".
const char* cause_id(Cause cause);

}  // namespace hostprobe::analysis
