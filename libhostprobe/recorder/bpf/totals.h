// totals.h: what the programs in the kernel and the process that reads their maps agree on.
//
// Room kernel/bpf/. C, for both compilers. Times are nanoseconds of CLOCK_MONOTONIC.
#ifndef HOSTPROBE_KERNEL_BPF_TOTALS_H
#define HOSTPROBE_KERNEL_BPF_TOTALS_H

#include <linux/types.h>

enum {
  kThreadsMost = 8192,  // at a time
  kTookMost = 65536,    // pairs of a thread and a process that ran instead of it
  kIrqsMost = 8192,     // pairs of a thread and an interrupt
  kWantedMost = 4096,   // processes named when it begins
  kDeadNamesMost = 4096,
  kSoftirqs = 10,
  kHistory = 64,        // runs of a CPU that are remembered; a power of two
  kHistoryLooked = 48,  // of those, how many a thread that waited looks back over
  kNesting = 4,         // interrupts inside of interrupts
};

enum ThreadState { kUnknown, kOnCpu, kAsleep, kWoken, kPreempted, kEnded };

struct IrqTotal {
  __u64 count;
  __u64 ns;  // without others inside
};

// Of one thread. Written by the CPU that it is on or goes to, read by anybody.
struct ThreadTotals {
  __u32 tid;
  __u32 process;
  __u32 state;
  __u32 used;
  __u64 since_ns;  // it waits for a CPU
  __u64 switches;
  __u64 woken_ns;      // it waited after a wake
  __u64 preempted_ns;  // and after it was taken off while it could have gone on
  __u64 own_ns;        // of both, other threads of its process had the CPU
  __u64 unknown_ns;    // of both, nobody remembers who had it
  struct IrqTotal softirqs[kSoftirqs];
};

struct TookKey {
  __u32 tid;
  __u32 process;  // which ran instead
};

struct IrqKey {
  __u32 tid;
  __u32 number;
};

struct Run {
  __u64 begin_ns;
  __u64 process;
};

struct CpuState {
  __u64 known;    // 1: `current` is right
  __u64 current;  // the thread's place + 1; 0 = one that is not recorded
  __u64 events;   // programs run here
  __u64 depth;    // of interrupts
  __u64 irq_begin_ns[kNesting];
  __u64 irq_inner_ns[kNesting];
  __u64 head;  // the latest of `runs`
  struct Run runs[kHistory];
};

struct Losses {
  __u64 threads;  // there was no place for
  __u64 took;     // waits whose neighbour there was no place for
  __u64 irqs;
  __u64 forgotten;  // waits with more runs than are remembered
};

struct DeadName {
  char comm[16];
};

#endif
