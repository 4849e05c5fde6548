// machine.h: what the machine did to a process: stolen time, pressure, clocks of its CPUs, quotas.
//
// The waist (answer/). analysis/measures/machine_load.h, frequency.h and quota.h fill it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

struct CpuFrequency {
  std::uint32_t cpu = 0;
  std::uint64_t samples = 0;
  double median_ghz = 0;
  bool is_slow = false;  // beside the others
};

// The longest time in which it was lower than before or afterwards.
struct FrequencyDrop {
  double begin_ns = 0, end_ns = 0;  // since the first clock pair
  double ghz = 0, usual_ghz = 0;
  std::uint32_t tid = 0;
};

struct FrequencyAnswer {
  std::uint64_t samples = 0, dropped = 0;
  double median_ghz = 0, low_ghz = 0, high_ghz = 0;  // 5 and 95 of 100
  std::vector<CpuFrequency> cpus;                    // by number
  std::optional<FrequencyDrop> drop;
};

struct QuotaAnswer {
  std::uint64_t periods = 0;
  double throttled_ns = 0;
  double cpus = 0;    // 0: not known
  std::string group;  // its folder
};

}  // namespace hostprobe::analysis
