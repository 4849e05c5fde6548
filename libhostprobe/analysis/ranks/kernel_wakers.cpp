// kernel_wakers.cpp: see kernel_wakers.h.
#include "kernel_wakers.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "trace/kernel_rows.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostWakingIrqs = 64;

struct Wait {
  std::uint64_t begin_ns = 0, end_ns = 0;  // CLOCK_MONOTONIC
  const WokenProcess* process = nullptr;
  const Track* track = nullptr;
  std::size_t call = 0;
  bool asleep = false;     // since the last row of it
  bool was_woken = false;  // in the call, by `waker`
  bool unclear = false;
  KernelWaker waker = {};
  std::uint32_t waker_tid = 0;  // 0: an interrupt
  std::uint64_t woken_ns = 0;
};

struct WakingIrq {
  bool soft;
  std::uint32_t number;
};

struct WakingCpu {
  std::uint64_t last_ns = 0;
  std::vector<WakingIrq> irqs;
};

bool is_unknown(const BlockedCall& call) {
  if (call.function == nullptr || !call.function->is(kWaits) || call.timed_out) return false;
  return call.waker == nullptr && call.kernel_waker == 0;
}

class Search {
 public:
  Search(const Trace& kernel, const std::vector<WokenProcess>& processes)
      : trace_(kernel), names_(kernel), pauses_(kernel) {
    for (const WokenProcess& process : processes) add_process(process);
    for (auto& [key, waits] : waits_)
      std::sort(waits.begin(), waits.end(), [](const Wait& l, const Wait& r) { return l.begin_ns < r.begin_ns; });
  }

  void run() {
    if (waits_.empty()) return;
    KernelWalk walk(trace_);
    KernelStep step;
    while (walk.next(step)) add(step);
    for (const KernelPart& part : kernel_parts(trace_))
      if (part.head.count == 0 && part.head.lost > 0)
        holes_.push_back({trace_.clock.monotonic_ns(part.head.begin_ticks), UINT64_MAX});
    merge_holes();
    for (const auto& [key, waits] : waits_)
      for (const Wait& wait : waits) settle(wait);
  }

 private:
  using Thread = std::pair<std::uint32_t, std::uint32_t>;  // pid, tid
  struct Hole {
    std::uint64_t begin_ns, end_ns;
  };

  void add_process(const WokenProcess& process) {
    const TickClock& clock = process.chains->timeline().trace().clock;
    for (const auto& [track, own] : process.chains->threads()) {
      const std::uint32_t tid = track->key().tid;
      std::vector<Wait>& waits = waits_[{process.pid, tid}];
      for (std::size_t i = 0; i < own.calls.size(); ++i) {
        const BlockedCall& call = own.calls[i];
        if (is_unknown(call))
          waits.push_back(
              {clock.monotonic_ns_of(call.begin_ns), clock.monotonic_ns_of(call.end_ns), &process, track, i});
      }
    }
    for (const Track& track : process.chains->timeline().tracks()) {
      const auto [known, is_new] = pids_.try_emplace(track.key().tid, process.pid);
      if (!is_new && known->second != process.pid) known->second = 0;  // two have it
    }
  }

  void merge_holes() {
    std::sort(holes_.begin(), holes_.end(), [](const Hole& l, const Hole& r) { return l.begin_ns < r.begin_ns; });
    std::vector<Hole> merged;
    for (const Hole& hole : holes_)
      if (merged.empty() || hole.begin_ns > merged.back().end_ns)
        merged.push_back(hole);
      else
        merged.back().end_ns = std::max(merged.back().end_ns, hole.end_ns);
    holes_ = std::move(merged);
  }

  bool is_whole(const Wait& wait) const {
    if (wait.begin_ns < begin_ns_ || wait.end_ns > end_ns_) return false;
    const auto hole = std::partition_point(holes_.begin(), holes_.end(),
                                           [&wait](const Hole& one) { return one.end_ns < wait.begin_ns; });
    const bool is_missing = hole != holes_.end() && hole->begin_ns <= wait.end_ns;
    return !is_missing && pauses_.inside_ns(wait.begin_ns, wait.end_ns) == 0;
  }

  // As the probe knows it: where the kernel's trace tells threads alone, the process whose thread it is.
  Thread thread_of(std::uint32_t tid) const {
    const std::uint32_t process = names_.process_of(tid), own = names_.inside(tid);
    if (process != tid) return {names_.inside(process), own};
    const auto known = pids_.find(own);
    return {known == pids_.end() || known->second == 0 ? own : known->second, own};
  }

  Wait* wait_at(std::uint32_t tid, std::uint64_t now) {
    const auto found = waits_.find(thread_of(tid));
    if (found == waits_.end()) return nullptr;
    auto after = std::upper_bound(found->second.begin(), found->second.end(), now,
                                  [](std::uint64_t ns, const Wait& wait) { return ns < wait.begin_ns; });
    if (after == found->second.begin()) return nullptr;
    Wait& wait = *--after;
    return now <= wait.end_ns ? &wait : nullptr;
  }

  void add(const KernelStep& step) {
    const hostprobe::KernelRow& row = step.row;
    const std::uint64_t now = trace_.clock.monotonic_ns(row.ticks);
    if (begin_ns_ == 0) begin_ns_ = now;
    end_ns_ = now;
    WakingCpu& cpu = cpus_.try_emplace(step.cpu, WakingCpu{begin_ns_, {}}).first->second;
    if (step.lost > 0) {
      holes_.push_back({cpu.last_ns, now});
      cpu.irqs.clear();
    }
    cpu.last_ns = now;
    if (row.what == kKernelSwitch) {
      cpu.irqs.clear();  // none goes on in another task
      Wait* wait = row.value == kLeftRunnable ? nullptr : wait_at(row.tid, now);
      if (wait != nullptr) wait->asleep = true;
    } else if (row.what == kKernelWake) {
      add_wake(cpu, row, now);
    } else {
      add_irq(cpu, row);
    }
  }

  static void add_irq(WakingCpu& cpu, const hostprobe::KernelRow& row) {
    const bool soft = row.what == kKernelSoftirqBegin || row.what == kKernelSoftirqEnd;
    if (row.what == kKernelIrqBegin || row.what == kKernelSoftirqBegin) {
      if (cpu.irqs.size() < kMostWakingIrqs) cpu.irqs.push_back({soft, row.value});
    } else if (row.what == kKernelIrqEnd || row.what == kKernelSoftirqEnd) {
      while (!cpu.irqs.empty() && cpu.irqs.back().soft != soft) cpu.irqs.pop_back();
      if (!cpu.irqs.empty()) cpu.irqs.pop_back();
    }
  }

  // What was not asleep was not woken: it had just run, or it stands twice (sched_waking, sched_wakeup).
  void add_wake(const WakingCpu& cpu, const hostprobe::KernelRow& row, std::uint64_t now) {
    Wait* wait = row.context == kContextUnknown ? nullptr : wait_at(row.other, now);
    if (wait == nullptr || !wait->asleep) return;
    const bool interrupt = row.context != kContextTask;
    KernelWaker waker{interrupt, interrupt ? irq_name(cpu, row.context) : names_.task(row.tid, row.ticks).name, 0};
    if (!interrupt) waker.pid = process_of(row.tid);
    const std::uint32_t tid = interrupt ? 0 : row.tid;
    wait->unclear = wait->unclear || (!interrupt && tid == 0) ||
                    (wait->was_woken && (wait->waker != waker || wait->waker_tid != tid));
    wait->asleep = false;
    wait->was_woken = true;
    wait->waker = std::move(waker);
    wait->waker_tid = tid;
    wait->woken_ns = now;
  }

  // As in the list of neighbours.
  std::uint32_t process_of(std::uint32_t tid) const {
    const std::uint32_t told = names_.process_of(tid);
    return told == tid ? thread_of(tid).first : told;
  }

  // The timer of a CPU has no handler that could be recorded.
  std::string irq_name(const WakingCpu& cpu, std::uint16_t context) const {
    const bool soft = context == kContextSoftirq;
    if (cpu.irqs.empty() || cpu.irqs.back().soft != soft) return {};
    return soft ? KernelNames::softirq(cpu.irqs.back().number) : names_.irq(cpu.irqs.back().number);
  }

  void settle(const Wait& wait) const {
    if (!wait.was_woken || wait.asleep || wait.unclear || !is_whole(wait)) return;
    WakeChains& chains = *wait.process->chains;
    const BlockedCall& call = chains.threads().at(wait.track).calls[wait.call];
    const Thread waker = wait.waker_tid == 0 ? Thread{} : thread_of(wait.waker_tid);
    if (waker.first != wait.process->pid || call.post_ns >= 0)
      return chains.set_waker(wait.track, wait.call, wait.waker);
    const Track* own = nullptr;
    for (const Track& track : chains.timeline().tracks()) {
      if (track.key().tid != waker.second) continue;
      if (own != nullptr) return;  // two had this id
      own = &track;
    }
    if (own == nullptr) return chains.set_waker(wait.track, wait.call, wait.waker);
    chains.set_waker(wait.track, wait.call, own, static_cast<double>(wait.woken_ns - wait.begin_ns) + call.begin_ns);
  }

  const Trace& trace_;
  const KernelNames names_;
  const KernelPauses pauses_;
  std::map<Thread, std::vector<Wait>> waits_;
  std::unordered_map<std::uint32_t, std::uint32_t> pids_;  // by tid; 0: of several
  std::unordered_map<std::uint32_t, WakingCpu> cpus_;
  std::vector<Hole> holes_;
  std::uint64_t begin_ns_ = 0, end_ns_ = 0;
};

}  // namespace

void find_kernel_wakers(const Trace& kernel, const std::vector<WokenProcess>& processes) {
  Search(kernel, processes).run();
}

}  // namespace hostprobe::analysis
