// machine_load.h: stolen time, interrupts and pressure of the machine that a process ran on (format/machine.h).
//
// Room 3.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/steps.h"
#include "model/window.h"
#include "trace/trace.h"

namespace hostprobe::analysis {

enum class MachineCount : std::uint8_t {
  kStealMs,
  kHardIrqMs,
  kSoftIrqMs,
  kHardIrqs,
  kSoftIrqs,
  kCpuSomeMs,
  kMemorySomeMs,
  kMemoryFullMs,
  kIoSomeMs,
  kIoFullMs,
};
inline constexpr std::size_t kMachineCounts = static_cast<std::size_t>(MachineCount::kIoFullMs) + 1;

// "steal_ms"; "cpu_some_ms" is a pressure.
const char* machine_count_name(MachineCount count);
bool is_pressure(MachineCount count);

using MachineCounts = std::array<std::optional<double>, kMachineCounts>;

struct MachineAnswer {
  double ms = 0;  // of time that is covered
  MachineCounts all;
  std::uint64_t steps = 0;  // that lie whole in it
  MachineCounts per_step;   // of those, the mean: between two readings counts are spread evenly
};

// Of the window, as far as it is covered. Nothing: not read twice.
std::optional<MachineAnswer> answer_machine(const Trace& trace, const Window& window, const std::vector<Step>& steps);

}  // namespace hostprobe::analysis
