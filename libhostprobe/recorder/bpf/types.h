// types.h: the few fields of the kernel's structures that are read. Where they lie the loader finds out from the BTF of the kernel
// that runs, so they need be neither complete nor in order.
//
// Room kernel/bpf/. A header of all the kernel's types has 135 000 lines, and a machine that builds may have none.
#ifndef HOSTPROBE_KERNEL_BPF_TYPES_H
#define HOSTPROBE_KERNEL_BPF_TYPES_H

#include <linux/types.h>
#include <stdbool.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct thread_info {
  __u32 cpu;
};

struct task_struct {
  struct thread_info thread_info;
  unsigned int __state;
  int pid;
  int tgid;
  struct task_struct* real_parent;
  struct task_struct* group_leader;
  char comm[16];
};

// Of other kernels: `state` before 5.14, `cpu` on some before 5.16.
struct task_struct___before {
  long state;
  unsigned int cpu;
};

struct irqaction {
  unsigned int irq;
};

struct bpf_iter_meta;

struct bpf_iter__task {
  struct bpf_iter_meta* meta;
  struct task_struct* task;
};

#pragma clang attribute pop

#endif
