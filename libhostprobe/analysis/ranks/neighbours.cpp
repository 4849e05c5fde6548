// neighbours.cpp: see neighbours.h.
#include "neighbours.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

#include "kernel_share.h"
#include "model/kernel_file.h"
#include "model/window.h"
#include "trace/kernel_rows.h"
#include "trace/kernel_totals.h"
#include "trace/trace_head.h"

namespace hostprobe::analysis {
namespace {

constexpr std::uint32_t kNobody = UINT32_MAX;
constexpr std::uint64_t kSlackNs = 1'000'000'000;  // a process lives a little before and after its trace
constexpr std::size_t kMostNested = 64;

// A recorded thread; its time until `since_ns` is accounted for.
struct Task {
  std::size_t subject = 0;
  bool waits = false;  // could run and does not
  double since_ns = 0;
  std::uint32_t cpu = 0;
};

struct OpenIrq {
  std::size_t subject;
  std::uint32_t number;
  bool soft;
  double begin_ns;
  double inner_ns = 0;
};

struct Cpu {
  std::uint32_t tid = kNobody;  // on it since then
  double since_ns = 0;
  std::vector<OpenIrq> irqs;
  std::set<std::uint32_t> waiting;
};

class Reading {
 public:
  Reading(const Trace& trace, const std::vector<KernelSubject>& subjects, KernelAnswer& answer)
      : trace_(trace), names_(trace), pauses_(trace), subjects_(subjects), answer_(answer), ticks_(trace.clock) {
    for (std::size_t i = 0; i < subjects.size(); ++i) {
      by_pid_[subjects[i].pid].push_back(i);
      for (const std::uint32_t tid : subjects[i].tids) by_tid_[tid].push_back(i);
    }
  }

  void read() {
    KernelWalk walk(trace_);
    KernelStep step;
    while (walk.next(step)) add(step);
    for (const auto& [tid, task] : tasks_) finish(tid, task);
    for (auto& [subject, totals] : took_) settle(subject, totals);
  }

 private:
  struct Took {
    double ms = 0, supposed_ms = 0;
    std::string comm;
  };
  struct Totals {
    std::unordered_map<std::uint32_t, Took> processes;
    std::map<std::pair<bool, std::uint32_t>, IrqShare> irqs;
  };

  void add(const KernelStep& step) {
    const hostprobe::KernelRow& row = step.row;
    const double now = ticks_.since_first_ns(row.ticks);
    Cpu& cpu = cpus_[step.cpu];
    if (pauses_.passed(row.ticks))
      for (auto& [number, one] : cpus_) forget(one);
    if (step.lost > 0) forget(cpu);
    last_ns_ = now;
    switch (row.what) {
      case kKernelSwitch:
        return add_switch(cpu, step.cpu, row, now);
      case kKernelWake:
        return add_wake(step.cpu, row, now);
      case kKernelMigrate:
        return add_migration(row, now);
      case kKernelIrqBegin:
      case kKernelSoftirqBegin:
        return begin_irq(cpu, row, now);
      case kKernelIrqEnd:
      case kKernelSoftirqEnd:
        return end_irq(cpu, row, now);
      default:
        return;
    }
  }

  // What happened there meanwhile nobody knows.
  void forget(Cpu& cpu) {
    cpu.tid = kNobody;
    cpu.irqs.clear();
    for (const std::uint32_t tid : cpu.waiting) tasks_[tid].waits = false;
    cpu.waiting.clear();
  }

  // Whose it is; nothing: of nobody who was recorded.
  std::optional<std::size_t> subject_of(std::uint32_t tid, std::uint64_t ticks) {
    if (tid == 0) return std::nullopt;
    const auto [known, fresh] = owners_.try_emplace(tid);
    if (!fresh) return known->second;
    const std::uint32_t process = names_.process_of(tid);
    const std::uint64_t at_ns = trace_.clock.monotonic_ns(ticks);
    known->second = alive_at(by_pid_, names_.inside(process), at_ns);
    // A thread that had ended before somebody could look: the probe knows it.
    if (!known->second && process == tid) known->second = alive_at(by_tid_, names_.inside(tid), at_ns);
    return known->second;
  }

  std::optional<std::size_t> alive_at(const std::unordered_map<std::uint32_t, std::vector<std::size_t>>& all,
                                      std::uint32_t number, std::uint64_t at_ns) const {
    const auto found = all.find(number);
    if (found == all.end()) return std::nullopt;
    for (const std::size_t i : found->second)
      if (at_ns + kSlackNs >= subjects_[i].begin_ns && at_ns <= subjects_[i].end_ns + kSlackNs) return i;
    return std::nullopt;
  }

  Task* task_of(std::uint32_t tid, std::uint64_t ticks) {
    const auto subject = subject_of(tid, ticks);
    if (!subject) return nullptr;
    Task& task = tasks_[tid];
    task.subject = *subject;
    return &task;
  }

  // A text tells threads only; the probe knows whose those of recorded processes are.
  std::uint32_t process_of(std::uint32_t tid, std::uint64_t ticks) {
    const std::uint32_t told = names_.process_of(tid);
    const auto owner = told == tid ? subject_of(tid, ticks) : std::nullopt;
    return owner ? subjects_[*owner].pid : told;
  }

  // `who` had the CPU for so long instead of a thread of that process.
  void credit(std::size_t subject, std::uint32_t who, double ns, bool supposed, std::uint64_t ticks) {
    share(subject).waited_ms += 1e-6 * ns;
    if (who == 0 || who == kNobody || ns <= 0) return;
    const std::uint32_t process = process_of(who, ticks);
    if (const auto owner = subject_of(who, ticks); owner && *owner == subject) {
      share(subject).own_ms += 1e-6 * ns;
      return;
    }
    Took& took = took_[subject].processes[process];
    took.ms += 1e-6 * ns;
    if (supposed) took.supposed_ms += 1e-6 * ns;
    if (!took.comm.empty()) return;
    took.comm = names_.task(process, ticks).name;
    if (took.comm.empty()) took.comm = names_.task(who, ticks).name;
  }

  // Threads that wait for this CPU, up to now: `before` was on it last.
  void account(Cpu& cpu, std::uint32_t before, double now, std::uint64_t ticks) {
    for (const std::uint32_t tid : cpu.waiting) {
      Task& task = tasks_[tid];
      const double from = cpu.tid == kNobody ? task.since_ns : std::max(task.since_ns, cpu.since_ns);
      const double ns = std::max(0.0, now - from);
      task.since_ns = now;
      if (cpu.tid == before) {
        credit(task.subject, before, ns, false, ticks);
      } else if (cpu.tid == kNobody) {
        credit(task.subject, before, ns, true, ticks);
      } else {
        credit(task.subject, cpu.tid, ns / 2, true, ticks);
        credit(task.subject, before, ns / 2, true, ticks);
      }
    }
  }

  void add_switch(Cpu& cpu, std::uint32_t number, const hostprobe::KernelRow& row, double now) {
    account(cpu, row.tid, now, row.ticks);
    if (Task* next = task_of(row.other, row.ticks)) {
      // It was to run somewhere else, as far as was told.
      if (next->waits && next->cpu != number) credit(next->subject, row.tid, now - next->since_ns, true, row.ticks);
      stop_waiting(row.other, *next);
    }
    if (Task* before = task_of(row.tid, row.ticks)) {
      ++share(before->subject).switches;
      stop_waiting(row.tid, *before);
      if (row.value == kLeftRunnable) start_waiting(row.tid, *before, number, now);
    }
    cpu.tid = row.other;
    cpu.since_ns = now;
  }

  void start_waiting(std::uint32_t tid, Task& task, std::uint32_t cpu, double now) {
    task.waits = true;
    task.since_ns = now;
    task.cpu = cpu;
    cpus_[cpu].waiting.insert(tid);
  }

  void stop_waiting(std::uint32_t tid, Task& task) {
    if (task.waits) cpus_[task.cpu].waiting.erase(tid);
    task.waits = false;
  }

  // On the CPU already, about to sleep: then it is not a wait for one.
  void add_wake(std::uint32_t on, const hostprobe::KernelRow& row, double now) {
    Task* task = task_of(row.other, row.ticks);
    if (task == nullptr || task->waits) return;
    const std::uint32_t target = row.value == UINT32_MAX ? on : row.value;
    if (const auto cpu = cpus_.find(target); cpu != cpus_.end() && cpu->second.tid == row.other) return;
    start_waiting(row.other, *task, target, now);
  }

  void add_migration(const hostprobe::KernelRow& row, double now) {
    Task* task = task_of(row.other, row.ticks);
    if (task == nullptr || !task->waits || task->cpu == row.value) return;
    const Cpu& left = cpus_[task->cpu];
    if (left.tid != kNobody)
      credit(task->subject, left.tid, now - std::max(task->since_ns, left.since_ns), false, row.ticks);
    stop_waiting(row.other, *task);
    start_waiting(row.other, *task, row.value, now);
  }

  void begin_irq(Cpu& cpu, const hostprobe::KernelRow& row, double now) {
    if (cpu.irqs.size() >= kMostNested) cpu.irqs.clear();
    const bool soft = row.what == kKernelSoftirqBegin;
    cpu.irqs.push_back({subject_of(row.tid, row.ticks).value_or(SIZE_MAX), row.value, soft, now});
  }

  // Those inside of it whose end is missing are gone.
  void end_irq(Cpu& cpu, const hostprobe::KernelRow& row, double now) {
    const bool soft = row.what == kKernelSoftirqEnd;
    std::size_t at = cpu.irqs.size();
    while (at > 0 && (cpu.irqs[at - 1].soft != soft || cpu.irqs[at - 1].number != row.value)) --at;
    if (at == 0) return;
    const OpenIrq irq = cpu.irqs[at - 1];
    cpu.irqs.resize(at - 1);
    if (!cpu.irqs.empty()) cpu.irqs.back().inner_ns += now - irq.begin_ns;
    if (irq.subject == SIZE_MAX) return;
    IrqShare& sum = took_[irq.subject].irqs[{soft, irq.number}];
    sum.soft = soft;
    sum.number = irq.number;
    ++sum.count;
    sum.ms += 1e-6 * std::max(0.0, now - irq.begin_ns - irq.inner_ns);
  }

  // Still waiting when the records end: who had its CPU last may have it yet.
  void finish(std::uint32_t tid, const Task& task) {
    if (!task.waits) return;
    const Cpu& cpu = cpus_[task.cpu];
    if (cpu.tid != kNobody && cpu.tid != tid)
      credit(task.subject, cpu.tid, last_ns_ - std::max(task.since_ns, cpu.since_ns), true, UINT64_MAX);
  }

  KernelShare& share(std::size_t subject) { return answer_.shares[subjects_[subject].trace_path]; }

  void settle(std::size_t subject, Totals& totals) {
    KernelShare& own = share(subject);
    for (const auto& [process, took] : totals.processes)
      add_neighbour({took.comm, process, took.ms, took.supposed_ms}, own);
    for (auto& [key, irq] : totals.irqs) {
      irq.name = irq.soft ? KernelNames::softirq(irq.number) : names_.irq(irq.number);
      add_irq(irq, own);
    }
    sort_share(own);
  }

  const Trace& trace_;
  const KernelNames names_;
  KernelPauses pauses_;
  const std::vector<KernelSubject>& subjects_;
  KernelAnswer& answer_;
  TickReader ticks_;
  std::unordered_map<std::uint32_t, std::vector<std::size_t>> by_pid_, by_tid_;
  std::unordered_map<std::uint32_t, std::optional<std::size_t>> owners_;
  std::unordered_map<std::uint32_t, Task> tasks_;
  std::unordered_map<std::uint32_t, Cpu> cpus_;
  std::map<std::size_t, Totals> took_;
  double last_ns_ = 0;
};

}  // namespace

void add_kernel_trace(const Trace& trace, const std::vector<KernelSubject>& subjects, KernelAnswer& answer) {
  KernelFile file = kernel_file(trace);
  // The same moments are not counted twice.
  file.used = std::none_of(answer.files.begin(), answer.files.end(), [&file](const KernelFile& other) {
    return other.used && other.host == file.host && other.begin_ns < file.end_ns && file.begin_ns < other.end_ns;
  });
  answer.files.push_back(file);
  if (!file.used) return;
  const KernelPauses pauses(trace);
  std::vector<KernelSubject> own;
  for (const KernelSubject& subject : subjects) {
    const bool is_there = file.host.empty() || subject.host == file.host;
    const std::uint64_t begin = std::max(subject.begin_ns, file.begin_ns), end = std::min(subject.end_ns, file.end_ns);
    if (!is_there || begin >= end) continue;
    own.push_back(subject);
    answer.shares[subject.trace_path].seen_ms +=
        1e-6 * (static_cast<double>(end - begin) - pauses.inside_ns(begin, end));
  }
  if (own.empty()) return;
  Reading(trace, own, answer).read();
  add_kernel_totals(trace, own, answer);
}

}  // namespace hostprobe::analysis
