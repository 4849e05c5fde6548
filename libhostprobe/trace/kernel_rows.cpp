// kernel_rows.cpp: see kernel_rows.h.
#include "kernel_rows.h"

#include <algorithm>
#include <cstring>

#include "read_at.h"

namespace hostprobe::analysis {
hostprobe::KernelRow KernelPart::row(std::uint32_t number) const {
  return read_at<hostprobe::KernelRow>(rows + number * sizeof(hostprobe::KernelRow));
}

std::vector<KernelPart> kernel_parts(const Trace& trace) {
  std::vector<KernelPart> parts;
  for (const BlockBytes& block : trace.kernel)
    parts.push_back({read_at<KernelHead>(block.bytes), block.bytes + sizeof(KernelHead)});
  std::stable_sort(parts.begin(), parts.end(), [](const KernelPart& l, const KernelPart& r) {
    return std::tie(l.head.cpu, l.head.begin_ticks) < std::tie(r.head.cpu, r.head.begin_ticks);
  });
  return parts;
}

// Parts of a CPU that follow each other need not be open at the same time; those that overlap are.
KernelWalk::KernelWalk(const Trace& trace) : parts_(kernel_parts(trace)), next_parts_(parts_.size()) {
  std::size_t last = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const bool follows = i > 0 && parts_[last].head.cpu == parts_[i].head.cpu &&
                         parts_[last].head.end_ticks <= parts_[i].head.begin_ticks;
    if (follows)
      next_parts_[last] = i;
    else
      open(i);
    last = i;
  }
}

void KernelWalk::open(std::size_t part) {
  while (parts_[part].head.count == 0 && next_parts_[part] != 0) part = next_parts_[part];
  if (parts_[part].head.count != 0) add(part, 0);
}

void KernelWalk::add(std::size_t part, std::uint32_t row) {
  places_.push({parts_[part].row(row).ticks, parts_[part].head.cpu, part, row});
}

bool KernelWalk::next(KernelStep& step) {
  if (places_.empty()) return false;
  const Place place = places_.top();
  places_.pop();
  step.row = parts_[place.part].row(place.row);
  step.cpu = place.cpu;
  step.lost = place.row == 0 ? parts_[place.part].head.lost : 0;
  if (place.row + 1 < parts_[place.part].head.count)
    add(place.part, place.row + 1);
  else if (next_parts_[place.part] != 0)
    open(next_parts_[place.part]);
  return true;
}

KernelPauses::KernelPauses(const Trace& trace) : trace_(trace) {
  for (const EventRow& event : trace.events) {
    const bool is_open = !pauses_.empty() && pauses_.back().end_ticks == UINT64_MAX;
    if (event.kind == kEventStopped && !is_open) pauses_.push_back({event.ticks, UINT64_MAX});
    if (event.kind == kEventStarted && is_open)
      pauses_.back().end_ticks = std::max(event.ticks, pauses_.back().begin_ticks);
  }
}

bool KernelPauses::passed(std::uint64_t ticks) {
  const std::size_t before = next_;
  while (next_ < pauses_.size() && pauses_[next_].end_ticks <= ticks) ++next_;
  return next_ != before;
}

double KernelPauses::inside_ns(std::uint64_t begin_monotonic_ns, std::uint64_t end_monotonic_ns) const {
  double ns = 0;
  for (const Pause& pause : pauses_) {
    const std::uint64_t begin = std::max(begin_monotonic_ns, trace_.clock.monotonic_ns(pause.begin_ticks));
    const std::uint64_t end = pause.end_ticks == UINT64_MAX
                                  ? end_monotonic_ns
                                  : std::min(end_monotonic_ns, trace_.clock.monotonic_ns(pause.end_ticks));
    if (end > begin) ns += static_cast<double>(end - begin);
  }
  return ns;
}

KernelNames::KernelNames(const Trace& trace) {
  for (const BlockBytes& block : trace.kernel_names)
    for (std::uint64_t at = 0; at + sizeof(KernelNameRow) <= block.count; at += sizeof(KernelNameRow)) {
      const auto row = read_at<KernelNameRow>(block.bytes + at);
      std::string name(row.name, strnlen(row.name, sizeof(row.name)));
      if (row.named == kNamedTask) {
        if (row.process != 0) processes_[row.number] = row.process;
        tasks_[{row.number, row.ticks}] = {std::move(name), row.process};
      } else if (row.named == kNamedIrq) {
        irqs_[row.number] = std::move(name);
      } else if (row.named == kNamedInside) {
        inside_[row.number] = row.process;
      }
    }
}

KernelTask KernelNames::task(std::uint32_t tid, std::uint64_t ticks) const {
  auto after = tasks_.upper_bound({tid, ticks});
  // What it was called later is better than no name.
  const bool before = after != tasks_.begin() && std::prev(after)->first.first == tid;
  if (before) --after;
  if (after == tasks_.end() || after->first.first != tid) return {};
  return after->second;
}

std::uint32_t KernelNames::process_of(std::uint32_t tid) const {
  const auto found = processes_.find(tid);
  return found == processes_.end() ? tid : found->second;
}

std::uint32_t KernelNames::inside(std::uint32_t tid) const {
  const auto found = inside_.find(tid);
  return found == inside_.end() ? tid : found->second;
}

std::string KernelNames::irq(std::uint32_t number) const {
  const auto found = irqs_.find(number);
  return found == irqs_.end() ? std::string() : found->second;
}

const char* KernelNames::softirq(std::uint32_t vector) {
  static constexpr const char* kNames[] = {"HI",       "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
                                           "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU"};
  return vector < std::size(kNames) ? kNames[vector] : "";
}

const char* kernel_event_name(std::uint16_t what) {
  static constexpr const char* kNames[] = {"",
                                           "sched_switch",
                                           "sched_waking",
                                           "sched_migrate_task",
                                           "irq_handler_entry",
                                           "irq_handler_exit",
                                           "softirq_entry",
                                           "softirq_exit",
                                           "sched_process_fork",
                                           "sched_process_exec",
                                           "sched_process_exit"};
  return what < std::size(kNames) ? kNames[what] : "";
}

const char* kernel_left_name(std::uint32_t left) {
  static constexpr const char* kNames[] = {"runnable", "sleeping", "uninterruptible", "stopped", "dead"};
  return left < std::size(kNames) ? kNames[left] : "";
}

}  // namespace hostprobe::analysis
