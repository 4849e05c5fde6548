// kernel.h: what the kernel told of a whole machine (kBlockKernel, kBlockKernelNames).
//
// Room 1 (format/). Written by `hostprobe sched` and by the import of kernel traces, read by analysis/trace/. Ids of tasks are
// those of the namespace of whoever wrote the file.
#pragma once

#include <cstdint>

namespace hostprobe {

enum KernelWhat : std::uint16_t {
  kKernelSwitch = 1,    // `tid` was taken off the CPU for `other`; `value`: KernelLeft
  kKernelWake = 2,      // `tid` woke `other`; `value`: the CPU that it is to run on
  kKernelMigrate = 3,   // `other` was moved; `value`: to which CPU
  kKernelIrqBegin = 4,  // `tid` was interrupted; `value`: number of the interrupt
  kKernelIrqEnd = 5,
  kKernelSoftirqBegin = 6,  // `value`: its vector
  kKernelSoftirqEnd = 7,
  kKernelFork = 8,  // `tid` made `other`
  kKernelExec = 9,
  kKernelExit = 10,
};

// How a task left its CPU.
enum KernelLeft : std::uint32_t {
  kLeftRunnable = 0,
  kLeftSleeping = 1,
  kLeftUninterruptible = 2,
  kLeftStopped = 3,
  kLeftDead = 4
};

//  block:  | KernelHead 32 | KernelRow × count |  of one CPU, in time order
struct KernelHead {
  std::uint64_t begin_ticks;  // between these two nothing is missing but what `lost` counts
  std::uint64_t end_ticks;
  std::uint64_t lost;
  std::uint32_t count;
  std::uint32_t cpu;
};
static_assert(sizeof(KernelHead) == 32);

// Where the code ran that woke a task. In an interrupt nobody woke it: who had the CPU there has nothing to do with it.
enum KernelContext : std::uint16_t {
  kContextUnknown = 0,  // the source does not tell, or the row is written on the CPU of the woken task (sched_wakeup)
  kContextTask = 1,
  kContextHardirq = 2,
  kContextSoftirq = 3,
};

struct KernelRow {
  std::uint64_t ticks;
  std::uint32_t tid;
  std::uint32_t other;
  std::uint32_t value;
  std::uint16_t what;     // KernelWhat
  std::uint16_t context;  // of a wake: KernelContext; else 0
};
static_assert(sizeof(KernelRow) == 24);

enum KernelNamed : std::uint16_t {
  kNamedTask = 1,
  kNamedIrq = 2,
  kNamedInside = 3,  // a task of a container: `process` is the id that it has in there, where it may be recorded
};

//  block:  | KernelNameRow × n |
struct KernelNameRow {
  std::uint64_t ticks;    // since when it has this name; 0 = from the beginning
  std::uint32_t number;   // tid, or the interrupt's number
  std::uint32_t process;  // of a task: its process; 0 = not known
  std::uint16_t named;    // KernelNamed
  std::uint16_t reserved[3];
  char name[32];
};
static_assert(sizeof(KernelNameRow) == 56);

}  // namespace hostprobe
