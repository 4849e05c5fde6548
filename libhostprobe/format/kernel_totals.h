// kernel_totals.h: what programs in the kernel added up of threads, between two moments (kBlockKernelTotals).
//
// Room 1 (format/). Written by `hostprobe sched --source bpf`, read by analysis/trace/. Each block tells of its own time only, so
// blocks are added up, and a file that ends early has what was added up until then. Ids of tasks, and their names
// (kBlockKernelNames), are those of format/kernel.h.
#pragma once

#include <cstdint>

namespace hostprobe {

inline constexpr std::uint32_t kKernelTotalsVersion = 1;

//  block:  | KernelTotalsHead 48 | KernelThreadTotals × threads | KernelTookTotals × took | KernelIrqTotals × irqs |
struct KernelTotalsHead {
  std::uint64_t begin_ticks;
  std::uint64_t end_ticks;
  std::uint64_t lost;     // switches, threads and interrupts that are in no sum
  std::uint64_t cost_ns;  // CPU time of all CPUs that adding up took, an estimate; 0 = not known
  std::uint32_t version;  // kKernelTotalsVersion; what comes behind the head is known of no other
  std::uint32_t threads;
  std::uint32_t took;
  std::uint32_t irqs;
};
static_assert(sizeof(KernelTotalsHead) == 48);

// Of a thread that was recorded. What it waited: for a CPU, while it could have run.
struct KernelThreadTotals {
  std::uint32_t tid;
  std::uint32_t process;
  std::uint64_t switches;      // it was taken off a CPU
  std::uint64_t woken_ns;      // it waited, after a wake
  std::uint64_t preempted_ns;  // and after it was taken off a CPU while it could have gone on
  std::uint64_t own_ns;        // of both: other threads of its process had the CPU
  std::uint64_t unknown_ns;    // of both: nobody remembers who had it
};
static_assert(sizeof(KernelThreadTotals) == 48);

struct KernelTookTotals {
  std::uint32_t tid;
  std::uint32_t process;  // had the CPU that the thread waited for
  std::uint64_t ns;
};
static_assert(sizeof(KernelTookTotals) == 16);

// Interrupts that came while the thread was on a CPU.
struct KernelIrqTotals {
  std::uint32_t tid;
  std::uint32_t number;  // or the vector
  std::uint64_t count;
  std::uint64_t ns;    // without others inside
  std::uint64_t soft;  // 1: a softirq
};
static_assert(sizeof(KernelIrqTotals) == 32);

}  // namespace hostprobe
