// machine.h: what the kernel counts of the whole machine (kBlockMachine).
//
// Room 1 (format/). Written by the probe's writer, read by analysis/trace/.
#pragma once

#include <cstdint>

namespace hostprobe {

inline constexpr std::uint64_t kNotReadable = UINT64_MAX;

//  block:  | MachineRow × n |
// Each counts since the machine was started, of all CPUs together; kNotReadable where the kernel does not tell.
struct MachineRow {
  std::uint64_t ticks;
  std::uint64_t steal_ns;           // CPUs were ready to run and the hypervisor ran another machine
  std::uint64_t interrupt_ns;       // in handlers of interrupts
  std::uint64_t soft_interrupt_ns;  // in soft interrupts
  std::uint64_t interrupts;
  std::uint64_t soft_interrupts;
  std::uint64_t cpu_some_us;     // PSI: some task had no CPU
  std::uint64_t memory_some_us;  // some task waited for memory to be freed or brought in
  std::uint64_t memory_full_us;  // all tasks that had work did
  std::uint64_t io_some_us;      // the same, for disks
  std::uint64_t io_full_us;
};
static_assert(sizeof(MachineRow) == 88);

}  // namespace hostprobe
