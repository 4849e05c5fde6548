// sched_totals.bpf.c: totals per thread of what the kernel's scheduler and interrupts do, kept in the kernel.
//
// Runs at every switch of the machine, with the run queue's lock held: so one look for the thread that comes, and none for one that
// goes, if it is recorded: its CPU knows it. A thread is recorded if it has a place (storage of the task); who is started by one gets one.
// What ran instead of a thread is found when it runs again: each CPU remembers its latest runs. A wait is in one thread, and is added up
// where its run queue's lock is held, so nothing here is atomic but what several CPUs count.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include <bpf/bpf_core_read.h>

#include "totals.h"
#include "types.h"

#define TASK_DEAD 0x80

struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, __u32);  // the place in `threads` + 1
} places SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, kThreadsMost);
  __type(key, __u32);
  __type(value, struct ThreadTotals);
} threads SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_QUEUE);
  __uint(max_entries, kThreadsMost);
  __type(value, __u32);
} free_places SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);  // as many as there are CPUs
  __type(key, __u32);
  __type(value, struct CpuState);
} cpus SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, kTookMost);
  __type(key, struct TookKey);
  __type(value, __u64);  // nanoseconds
} took SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, kIrqsMost);
  __type(key, struct IrqKey);
  __type(value, struct IrqTotal);
} irqs SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, kWantedMost);
  __type(key, __u32);
  __type(value, __u8);
} wanted SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, kDeadNamesMost);
  __type(key, __u32);
  __type(value, struct DeadName);
} dead_names SEC(".maps");

const volatile bool everybody = false;
__u32 places_used = 0;    // of `threads`, since the beginning
__u32 threads_ended = 0;  // since the beginning; their places are free once their totals were read
struct Losses losses = {};

static __always_inline struct CpuState* this_cpu(void) {
  __u32 number = bpf_get_smp_processor_id();
  struct CpuState* cpu = bpf_map_lookup_elem(&cpus, &number);
  if (cpu) ++cpu->events;
  return cpu;
}

static __always_inline struct ThreadTotals* thread_at(__u32 place) {
  __u32 number = place - 1;
  return bpf_map_lookup_elem(&threads, &number);
}

static __always_inline __u32 place_of(struct task_struct* task) {
  __u32* place = bpf_task_storage_get(&places, task, 0, 0);
  return place ? *place : 0;
}

static __always_inline bool is_runnable(struct task_struct* task) {
  if (bpf_core_field_exists(task->__state)) return task->__state == 0;
  return BPF_CORE_READ((struct task_struct___before*)task, state) == 0;
}

static __always_inline bool is_dead(struct task_struct* task) {
  if (bpf_core_field_exists(task->__state)) return task->__state & TASK_DEAD;
  return BPF_CORE_READ((struct task_struct___before*)task, state) & TASK_DEAD;
}

static __noinline int give_place(struct task_struct* task) {
  __u32* own = bpf_task_storage_get(&places, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (!own) {
    __sync_fetch_and_add(&losses.threads, 1);
    return 0;
  }
  if (*own) return 0;
  __u32 number = 0;
  if (bpf_map_pop_elem(&free_places, &number)) {
    number = places_used < kThreadsMost ? __sync_fetch_and_add(&places_used, 1) : kThreadsMost;
  }
  struct ThreadTotals* thread = bpf_map_lookup_elem(&threads, &number);
  if (!thread) {
    __sync_fetch_and_add(&losses.threads, 1);
    return 0;
  }
  thread->tid = task->pid;
  thread->process = task->tgid;
  thread->state = kUnknown;
  thread->used = 1;
  *own = number + 1;
  return 0;
}

static __always_inline void credit(struct ThreadTotals* thread, __u32 process, __u64 ns) {
  if (process == 0) return;  // the CPU had nothing to do
  if (process == thread->process) {
    thread->own_ns += ns;
    return;
  }
  struct TookKey key = {thread->tid, process};
  __u64* sum = bpf_map_lookup_elem(&took, &key);
  if (sum) {
    *sum += ns;
    return;
  }
  if (bpf_map_update_elem(&took, &key, &ns, BPF_NOEXIST)) {
    thread->unknown_ns += ns;
    __sync_fetch_and_add(&losses.took, 1);
  }
}

// Who ran on `cpu` from `since` to `now`: the latest run goes on until `now`.
static __noinline int credit_runs(struct CpuState* cpu, struct ThreadTotals* thread, __u64 now) {
  if (!cpu || !thread) return 0;
  __u64 since = thread->since_ns, end = now;
  for (__u32 i = 0; i < kHistoryLooked; ++i) {
    struct Run* run = &cpu->runs[(cpu->head - i) & (kHistory - 1)];
    if (run->begin_ns == 0) break;  // before the first
    __u64 begin = run->begin_ns > since ? run->begin_ns : since;
    if (end > begin) {
      credit(thread, run->process, end - begin);
      end = begin;
    }
    if (run->begin_ns <= since) return 0;
  }
  thread->unknown_ns += end - since;
  __sync_fetch_and_add(&losses.forgotten, 1);
  return 0;
}

static __always_inline void end_wait(struct CpuState* cpu, struct ThreadTotals* thread, __u64 now) {
  __u64 ns = now - thread->since_ns;
  if (thread->state == kWoken)
    thread->woken_ns += ns;
  else
    thread->preempted_ns += ns;
  credit_runs(cpu, thread, now);
}

static __always_inline bool waits(const struct ThreadTotals* thread) {
  return thread->state == kWoken || thread->state == kPreempted;
}

static __always_inline void leave(struct ThreadTotals* thread, struct task_struct* task, bool preempted, __u64 now) {
  ++thread->switches;
  thread->since_ns = now;
  if (preempted || is_runnable(task)) {
    thread->state = kPreempted;
  } else if (is_dead(task)) {
    thread->state = kEnded;
    __sync_fetch_and_add(&threads_ended, 1);
  } else {
    thread->state = kAsleep;
  }
}

// Threads of one process that follow each other are one run.
static __always_inline void remember(struct CpuState* cpu, __u64 process, __u64 now) {
  __u64 head = cpu->head;
  struct Run* latest = &cpu->runs[head & (kHistory - 1)];
  if (latest->begin_ns && latest->process == process) return;
  struct Run* run = &cpu->runs[(head + 1) & (kHistory - 1)];
  run->begin_ns = now;
  run->process = process;
  cpu->head = head + 1;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct* prev, struct task_struct* next) {
  struct CpuState* cpu = this_cpu();
  if (!cpu) return 0;
  __u64 now = bpf_ktime_get_ns();
  // The first one that leaves has been here longer than anybody waits.
  if (!cpu->known) remember(cpu, prev->tgid, 1);
  // One or two of 10 000 are not found when they come, and are when they go.
  __u32 before = cpu->known ? cpu->current : 0;
  if (!before && prev->pid != 0) before = place_of(prev);
  if (before) {
    struct ThreadTotals* thread = thread_at(before);
    if (thread) leave(thread, prev, preempt, now);
  }
  __u32 place = next->pid == 0 ? 0 : place_of(next);
  cpu->known = 1;
  cpu->current = place;
  cpu->depth = 0;
  if (place) {
    struct ThreadTotals* thread = thread_at(place);
    if (thread) {
      if (waits(thread)) end_wait(cpu, thread, now);
      thread->state = kOnCpu;
    }
  }
  remember(cpu, next->tgid, now);
  return 0;
}

static __always_inline int wake(struct task_struct* task) {
  this_cpu();
  __u32 place = place_of(task);
  if (!place) return 0;
  struct ThreadTotals* thread = thread_at(place);
  // One that is on its CPU was only about to sleep.
  if (!thread || waits(thread) || thread->state == kOnCpu) return 0;
  thread->since_ns = bpf_ktime_get_ns();
  thread->state = kWoken;
  return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct* task) { return wake(task); }

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct* task) { return wake(task); }

static __always_inline __u32 cpu_of(struct task_struct* task) {
  if (bpf_core_field_exists(task->thread_info.cpu)) return task->thread_info.cpu;
  return BPF_CORE_READ((struct task_struct___before*)task, cpu);
}

// One that waits goes on waiting elsewhere: what it waited for here is added up.
SEC("tp_btf/sched_migrate_task")
int BPF_PROG(on_migrate, struct task_struct* task) {
  this_cpu();
  __u32 place = place_of(task);
  if (!place) return 0;
  struct ThreadTotals* thread = thread_at(place);
  if (!thread || !waits(thread)) return 0;
  __u32 number = cpu_of(task);
  struct CpuState* left = bpf_map_lookup_elem(&cpus, &number);
  __u64 now = bpf_ktime_get_ns();
  end_wait(left, thread, now);
  thread->since_ns = now;
  return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct* parent, struct task_struct* child) {
  this_cpu();
  if (everybody || place_of(parent)) give_place(child);
  return 0;
}

// Who has ended cannot be asked its name any more.
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct* task) {
  this_cpu();
  if (task->pid != task->tgid) return 0;
  __u32 process = task->tgid;
  struct DeadName name = {};
  bpf_probe_read_kernel(&name.comm, sizeof(name.comm), &task->comm);
  bpf_map_update_elem(&dead_names, &process, &name, BPF_ANY);
  return 0;
}

// While a recorded thread is on the CPU: what interrupts others costs them alone.
static __always_inline struct CpuState* cpu_of_recorded(void) {
  struct CpuState* cpu = this_cpu();
  return cpu && cpu->current ? cpu : 0;
}

static __always_inline void begin_irq(void) {
  struct CpuState* cpu = cpu_of_recorded();
  if (!cpu) return;
  __u64 depth = cpu->depth;
  cpu->depth = depth + 1;
  if (depth >= kNesting) return;
  cpu->irq_begin_ns[depth] = bpf_ktime_get_ns();
  cpu->irq_inner_ns[depth] = 0;
}

// Nanoseconds without those inside; 0 = its beginning was not seen.
static __always_inline __u64 end_irq(struct CpuState* cpu) {
  __u64 depth = cpu->depth - 1;
  if (cpu->depth == 0) return 0;
  cpu->depth = depth;
  if (depth >= kNesting) return 0;
  __u64 whole = bpf_ktime_get_ns() - cpu->irq_begin_ns[depth];
  __u64 own = whole - cpu->irq_inner_ns[depth];
  if (depth > 0 && depth <= kNesting) cpu->irq_inner_ns[(depth - 1) & (kNesting - 1)] += whole;
  return own + (own == 0);
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(on_irq_entry) {
  begin_irq();
  return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(on_irq_exit, int number) {
  struct CpuState* cpu = cpu_of_recorded();
  if (!cpu) return 0;
  __u64 ns = end_irq(cpu);
  struct ThreadTotals* thread = thread_at(cpu->current);
  if (ns == 0 || !thread) return 0;
  struct IrqKey key = {thread->tid, number};
  struct IrqTotal* total = bpf_map_lookup_elem(&irqs, &key);
  if (total) {
    ++total->count;
    total->ns += ns;
    return 0;
  }
  struct IrqTotal first = {1, ns};
  if (bpf_map_update_elem(&irqs, &key, &first, BPF_NOEXIST)) __sync_fetch_and_add(&losses.irqs, 1);
  return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(on_softirq_entry) {
  begin_irq();
  return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(on_softirq_exit, unsigned int vector) {
  struct CpuState* cpu = cpu_of_recorded();
  if (!cpu) return 0;
  __u64 ns = end_irq(cpu);
  struct ThreadTotals* thread = thread_at(cpu->current);
  if (ns == 0 || !thread || vector >= kSoftirqs) return 0;
  ++thread->softirqs[vector].count;
  thread->softirqs[vector].ns += ns;
  return 0;
}

// Those that live already: of the processes that are wanted, and whom they have started.
SEC("iter/task")
int adopt(struct bpf_iter__task* context) {
  struct task_struct* task = context->task;
  if (!task || task->pid == 0) return 0;
  __u32 process = task->tgid;
  bool take = everybody;
  if (!take && bpf_map_lookup_elem(&wanted, &process)) take = true;
  if (!take && place_of(task->group_leader)) take = true;
  if (!take && place_of(task->real_parent)) take = true;
  if (take) give_place(task);
  return 0;
}

// The kernel lets only programs under a licence that goes with the GPL use what this one uses.
char LICENSE[] SEC("license") = "Dual BSD/GPL";
