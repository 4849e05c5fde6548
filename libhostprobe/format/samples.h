// samples.h: what running threads were found doing, and those that were blocked where no call is recorded (kBlockSamples).
//
// Room 1 (format/). Written by the probe's writer, read by analysis/trace/.
#pragma once

#include <cstdint>

namespace hostprobe {

enum SampleKind : std::uint16_t {
  kSamplePython = 1,   // `stack`: the Python frames it was in
  kSampleCode = 2,     // `address`: the code it ran; `stack`: its callers, where they are known
  kSampleBlocked = 3,  // in no recorded call, and not running: `call`; `address` it is to go on at; `stack` of Python
  // Since the thread's row of this kind before: `address`: page faults in bits 0–31, CPU time in us above; `running_us` of
  // that in the kernel; `stack`: faults for which the disk was asked, 0 in older files.
  kSampleFaults = 4,
  kSampleFaultPlace =
      5,  // `address`: the code that touched a page which was not there; `running_us`: for so many faults
  // Since the thread's row of this kind before, `running_us` ago on the clock: `address`: CPU time in us in bits 32–63, waiting
  // for a CPU in us below; `stack`: how often it was put on one; `call`: CPU time in the kernel, in steps of 10 ms.
  kSampleSupply = 6,
};

//  block:  | SampleRow × n |
struct SampleRow {
  std::uint64_t ticks;
  std::uint32_t tid;
  std::uint16_t kind;  // SampleKind
  std::uint16_t
      call;  // of kSampleBlocked: the system call's number plus 1; 0 = none: a page was not there; of kSampleSupply
  std::uint64_t address;
  std::uint32_t stack;       // as in Record::stack; 0 = none
  std::uint32_t running_us;  // CPU time of the thread that this sample stands for: since its sample of this kind before
};
static_assert(sizeof(SampleRow) == 32);

}  // namespace hostprobe
