// kernel_share.cpp: see kernel_share.h.
#include "kernel_share.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "trace/kernel_rows.h"
#include "trace/kernel_totals.h"

namespace hostprobe::analysis {
namespace {

class TotalsReading {
 public:
  TotalsReading(const Trace& trace, const std::vector<KernelSubject>& subjects, KernelAnswer& answer)
      : trace_(trace), names_(trace), subjects_(subjects), answer_(answer) {}

  void read() {
    for (const KernelTotalsPart& part : kernel_totals(trace_)) read(part);
    for (const std::size_t subject : touched_) sort_share(share(subject));
  }

 private:
  void read(const KernelTotalsPart& part) {
    begin_ns_ = trace_.clock.monotonic_ns(part.head.begin_ticks);
    end_ns_ = trace_.clock.monotonic_ns(part.head.end_ticks);
    end_ticks_ = part.head.end_ticks;
    owners_.clear();
    for (std::uint32_t i = 0; i < part.head.threads; ++i) add_thread(part.thread(i));
    for (std::uint32_t i = 0; i < part.head.took; ++i) add_took(part.took(i));
    for (std::uint32_t i = 0; i < part.head.irqs; ++i) add_irqs(part.irq(i));
  }

  // Of nobody who was recorded by the probe then: SIZE_MAX.
  std::size_t subject_of(std::uint32_t process) const {
    const std::uint32_t pid = names_.inside(process);
    for (std::size_t i = 0; i < subjects_.size(); ++i)
      if (subjects_[i].pid == pid && subjects_[i].begin_ns <= end_ns_ && begin_ns_ <= subjects_[i].end_ns) return i;
    return SIZE_MAX;
  }

  void add_thread(const KernelThreadTotals& totals) {
    const std::size_t subject = subject_of(totals.process);
    owners_[totals.tid] = subject;
    if (subject == SIZE_MAX) return;
    touched_.insert(subject);
    KernelShare& own = share(subject);
    own.switches += totals.switches;
    own.waited_ms += 1e-6 * static_cast<double>(totals.woken_ns + totals.preempted_ns);
    own.preempted_ms = own.preempted_ms.value_or(0) + 1e-6 * static_cast<double>(totals.preempted_ns);
    own.own_ms += 1e-6 * static_cast<double>(totals.own_ns);
    own.unknown_ms += 1e-6 * static_cast<double>(totals.unknown_ns);
  }

  std::size_t owner(std::uint32_t tid) const {
    const auto found = owners_.find(tid);
    return found == owners_.end() ? SIZE_MAX : found->second;
  }

  void add_took(const KernelTookTotals& took) {
    const std::size_t subject = owner(took.tid);
    if (subject == SIZE_MAX) return;
    add_neighbour({names_.task(took.process, end_ticks_).name, took.process, 1e-6 * static_cast<double>(took.ns), 0},
                  share(subject));
  }

  void add_irqs(const KernelIrqTotals& totals) {
    const std::size_t subject = owner(totals.tid);
    if (subject == SIZE_MAX) return;
    const bool soft = totals.soft != 0;
    add_irq({soft ? KernelNames::softirq(totals.number) : names_.irq(totals.number), totals.number, soft, totals.count,
             1e-6 * static_cast<double>(totals.ns)},
            share(subject));
  }

  KernelShare& share(std::size_t subject) { return answer_.shares[subjects_[subject].trace_path]; }

  const Trace& trace_;
  const KernelNames names_;
  const std::vector<KernelSubject>& subjects_;
  KernelAnswer& answer_;
  std::uint64_t begin_ns_ = 0, end_ns_ = 0, end_ticks_ = 0;  // of the block
  std::unordered_map<std::uint32_t, std::size_t> owners_;    // of its threads
  std::set<std::size_t> touched_;
};

}  // namespace

void add_neighbour(const Neighbour& neighbour, KernelShare& share) {
  const auto known = std::find_if(share.neighbours.begin(), share.neighbours.end(), [&](const Neighbour& one) {
    return one.pid == neighbour.pid && one.comm == neighbour.comm;
  });
  if (known == share.neighbours.end()) {
    share.neighbours.push_back(neighbour);
    return;
  }
  known->took_ms += neighbour.took_ms;
  known->supposed_ms += neighbour.supposed_ms;
}

void add_irq(const IrqShare& irq, KernelShare& share) {
  (irq.soft ? share.soft : share.hard) += irq.count;
  (irq.soft ? share.soft_ms : share.hard_ms) += irq.ms;
  const auto known = std::find_if(share.irqs.begin(), share.irqs.end(), [&](const IrqShare& one) {
    return one.soft == irq.soft && one.number == irq.number;
  });
  if (known == share.irqs.end()) {
    share.irqs.push_back(irq);
    return;
  }
  known->count += irq.count;
  known->ms += irq.ms;
}

void sort_share(KernelShare& share) {
  std::stable_sort(share.neighbours.begin(), share.neighbours.end(), [](const Neighbour& l, const Neighbour& r) {
    return std::pair(-l.took_ms, l.pid) < std::pair(-r.took_ms, r.pid);
  });
  std::stable_sort(share.irqs.begin(), share.irqs.end(),
                   [](const IrqShare& l, const IrqShare& r) { return l.ms > r.ms; });
}

void add_kernel_totals(const Trace& trace, const std::vector<KernelSubject>& subjects, KernelAnswer& answer) {
  if (!trace.kernel_totals.empty()) TotalsReading(trace, subjects, answer).read();
}

}  // namespace hostprobe::analysis
