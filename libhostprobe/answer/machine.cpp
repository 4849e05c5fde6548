// machine.cpp: see machine.h.
#include "machine.h"

namespace hostprobe::analysis {

const char* machine_count_name(MachineCount count) {
  constexpr const char* kNames[] = {"steal_ms",    "hard_irq_ms",    "soft_irq_ms",    "hard_irqs",  "soft_irqs",
                                    "cpu_some_ms", "memory_some_ms", "memory_full_ms", "io_some_ms", "io_full_ms"};
  static_assert(sizeof kNames / sizeof kNames[0] == kMachineCounts);
  return kNames[static_cast<std::size_t>(count)];
}

bool is_pressure(MachineCount count) { return count >= MachineCount::kCpuSomeMs; }

}  // namespace hostprobe::analysis
