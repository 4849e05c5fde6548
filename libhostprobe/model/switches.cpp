// switches.cpp: see switches.h.
#include "switches.h"

#include <algorithm>
#include <tuple>

#include "format/switches.h"
#include "trace/trace.h"

namespace hostprobe::analysis {
namespace {

constexpr std::uint64_t kMostRows = 16'000'000;  // 16 bytes each; the newest ones, where there are more
constexpr double kTouchNs = 1000;
constexpr double kMostMissing = 0.001;  // of the switches

SwitchesHead head_of(const BlockBytes& block) {
  SwitchesHead head;
  std::memcpy(&head, block.bytes, sizeof(head));
  return head;
}

// The first block that is looked at.
std::size_t first_of_newest(const std::vector<BlockBytes>& blocks) {
  std::uint64_t rows = 0;
  for (std::size_t i = blocks.size(); i > 0; --i) {
    rows += head_of(blocks[i - 1]).count;
    if (rows > kMostRows) return i;
  }
  return 0;
}

std::vector<SwitchRow> rows_of(const std::vector<BlockBytes>& blocks, std::size_t first) {
  std::uint64_t count = 0;
  for (std::size_t i = first; i < blocks.size(); ++i) count += head_of(blocks[i]).count;
  std::vector<SwitchRow> rows(count);
  SwitchRow* to = rows.data();
  for (std::size_t i = first; i < blocks.size(); ++i) {
    const std::uint32_t some = head_of(blocks[i]).count;
    if (some > 0) std::memcpy(to, blocks[i].bytes + sizeof(SwitchesHead), some * sizeof(SwitchRow));
    to += some;
  }
  std::erase_if(rows, [](const SwitchRow& row) { return row.what < kSwitchedIn || row.what > kSwitchedOutRunnable; });
  const auto order = [](const SwitchRow& row) { return std::tuple(row.tid, row.ticks, row.what); };
  std::sort(rows.begin(), rows.end(), [&](const SwitchRow& l, const SwitchRow& r) { return order(l) < order(r); });
  const auto same = [&](const SwitchRow& l, const SwitchRow& r) { return order(l) == order(r); };
  rows.erase(std::unique(rows.begin(), rows.end(), same), rows.end());
  return rows;
}

SwitchRow row_of(const BlockBytes& block, std::uint64_t number) {
  SwitchRow row;
  std::memcpy(&row, block.bytes + sizeof(SwitchesHead) + number * sizeof(row), sizeof(row));
  return row;
}

struct Drops {
  std::uint64_t begin_ticks, end_ticks;
};

// `drops` by begin.
template <typename Covers>
void take_out(Covers& covers, const std::vector<Drops>& drops, TickReader& ticks) {
  Covers left;
  std::size_t i = 0;
  for (const auto& cover : covers) {
    double at_ns = cover.begin_ns;
    for (; i < drops.size(); ++i) {
      const double begin_ns = ticks.since_first_ns(drops[i].begin_ticks),
                   end_ns = ticks.since_first_ns(drops[i].end_ticks);
      if (begin_ns >= cover.end_ns) break;
      if (begin_ns > at_ns) left.push_back({at_ns, begin_ns});
      at_ns = std::max(at_ns, end_ns);
      if (end_ns > cover.end_ns) break;  // the next one is cut too
    }
    if (at_ns < cover.end_ns) left.push_back({at_ns, cover.end_ns});
  }
  covers = std::move(left);
}

// Adds when rows of a block found their buffer full, or were left out of all threads; returns how many were dropped.
std::uint64_t add_drops(const BlockBytes& block, std::vector<Drops>& all) {
  std::uint64_t rows = 0;
  for (std::uint64_t i = 1; i < head_of(block).count; ++i) {
    const SwitchRow end = row_of(block, i), begin = row_of(block, i - 1);
    const bool is_hole = end.what == kLeftOutEnd && begin.what == kLeftOutBegin && end.tid == 0 && begin.tid == 0;
    if (is_hole && begin.ticks <= end.ticks) all.push_back({begin.ticks, end.ticks});
    if (end.what != kDropsEnd) continue;
    rows += end.tid;
    if (begin.what == kDropsBegin && begin.ticks <= end.ticks) all.push_back({begin.ticks, end.ticks});
  }
  return rows;
}

}  // namespace

Switches::Switches(const Trace& trace) {
  if (trace.switches.empty()) return;
  const std::size_t first_block = first_of_newest(trace.switches);
  add_covers(trace, first_block);
  add_left_out(trace, first_block);
  const std::vector<SwitchRow> rows = rows_of(trace.switches, first_block);
  const SwitchRow* const end = rows.data() + rows.size();
  for (const SwitchRow* first = rows.data(); first != end;) {
    const SwitchRow* next = std::find_if(first, end, [first](const SwitchRow& row) { return row.tid != first->tid; });
    add_thread(trace, first, next);
    first = next;
  }
}

// Blocks follow each other; what is missing in some of them is told by the next one that was compared. Where too much is missing
// nothing is covered: nobody knows which.
void Switches::add_covers(const Trace& trace, std::size_t first_block) {
  TickReader ticks(trace.clock);
  std::vector<Cover> all;
  std::vector<Drops> drops;
  std::size_t compared = 0;  // covers before this one are sure
  std::uint64_t rows = 0, lost = 0, dropped = 0;
  for (std::size_t i = 0; i < trace.switches.size(); ++i) {
    const SwitchesHead head = head_of(trace.switches[i]);
    lost_ += head.lost;
    rows += head.count;
    lost += head.lost;
    if (i >= first_block) dropped += add_drops(trace.switches[i], drops);
    if (i >= first_block) all.push_back({ticks.since_first_ns(head.begin_ticks), ticks.since_first_ns(head.end_ticks)});
    if (head.compared == 0 && i + 1 < trace.switches.size()) continue;
    // Of what a buffer dropped it is known when.
    const double unplaced = 2 * static_cast<double>(lost) - static_cast<double>(dropped);
    if (unplaced > 1 + kMostMissing * static_cast<double>(rows)) all.resize(compared);
    compared = all.size();
    rows = lost = dropped = 0;
  }
  std::sort(all.begin(), all.end(), [](const Cover& l, const Cover& r) { return l.begin_ns < r.begin_ns; });
  for (const Cover& one : all) {
    if (!covers_.empty() && one.begin_ns <= covers_.back().end_ns + kTouchNs)
      covers_.back().end_ns = std::max(covers_.back().end_ns, one.end_ns);
    else
      covers_.push_back(one);
  }
  std::sort(drops.begin(), drops.end(), [](const Drops& l, const Drops& r) { return l.begin_ticks < r.begin_ticks; });
  take_out(covers_, drops, ticks);
}

// Several blocks may tell of the same time.
void Switches::add_left_out(const Trace& trace, std::size_t first_block) {
  TickReader ticks(trace.clock);
  for (std::size_t i = first_block; i < trace.switches.size(); ++i)
    for (std::uint64_t at = 1; at < head_of(trace.switches[i]).count; ++at) {
      const SwitchRow end = row_of(trace.switches[i], at), begin = row_of(trace.switches[i], at - 1);
      if (end.what != kLeftOutEnd || begin.what != kLeftOutBegin || end.tid == 0 || end.tid != begin.tid) continue;
      if (begin.ticks > end.ticks) continue;
      left_out_[end.tid].push_back({ticks.since_first_ns(begin.ticks), ticks.since_first_ns(end.ticks)});
    }
  for (auto& [tid, all] : left_out_) {
    std::sort(all.begin(), all.end(), [](const Cover& l, const Cover& r) { return l.begin_ns < r.begin_ns; });
    std::vector<Cover> joined;
    for (const Cover& one : all) {
      if (!joined.empty() && one.begin_ns <= joined.back().end_ns)
        joined.back().end_ns = std::max(joined.back().end_ns, one.end_ns);
      else
        joined.push_back(one);
    }
    all = std::move(joined);
  }
}

// What lies where rows are missing may be two spans, with a run between them that nobody knows of.
void Switches::add_thread(const Trace& trace, const SwitchRow* first, const SwitchRow* end) {
  TickReader ticks(trace.clock);
  const SwitchRow* out = nullptr;
  for (const SwitchRow* row = first; row != end; ++row) {
    if (row->what != kSwitchedIn) {
      out = row;
      continue;
    }
    ++count_;
    const Thread* thread = out == nullptr ? nullptr : trace.thread_at(row->tid, out->ticks);
    // Another thread may have got the id meanwhile.
    if (thread != nullptr && thread == trace.thread_at(row->tid, row->ticks)) {
      const double out_ns = ticks.since_first_ns(out->ticks), in_ns = ticks.since_first_ns(row->ticks);
      if (covers(row->tid, out_ns, in_ns))
        threads_[thread->key].spans_.push_back({out_ns, in_ns, out->cpu, row->cpu, out->what == kSwitchedOutRunnable});
    }
    out = nullptr;
  }
  // It waits until the end, where that is known.
  const Thread* thread = out == nullptr ? nullptr : trace.thread_at(out->tid, out->ticks);
  if (thread == nullptr || thread->entry.end_ticks != 0 || covers_.empty()) return;
  const double out_ns = ticks.since_first_ns(out->ticks), end_ns = covers_.back().end_ns;
  if (covers(out->tid, out_ns, end_ns))
    threads_[thread->key].spans_.push_back({out_ns, end_ns, out->cpu, out->cpu, out->what == kSwitchedOutRunnable});
}

const ThreadSwitches& Switches::of(const ThreadKey& thread) const {
  static const ThreadSwitches kNone;
  const auto found = threads_.find(thread);
  return found == threads_.end() ? kNone : found->second;
}

bool Switches::covers(double begin_ns, double end_ns) const {
  const auto after = std::upper_bound(covers_.begin(), covers_.end(), begin_ns,
                                      [](double ns, const Cover& cover) { return ns < cover.begin_ns; });
  return after != covers_.begin() && std::prev(after)->end_ns >= end_ns;
}

double Switches::left_out_ns(std::uint32_t tid, double begin_ns, double end_ns) const {
  const auto found = left_out_.find(tid);
  if (found == left_out_.end()) return 0;
  double ns = 0;
  for (const Cover& one : found->second)
    ns += std::max(0.0, std::min(one.end_ns, end_ns) - std::max(one.begin_ns, begin_ns));
  return ns;
}

bool Switches::covers(std::uint32_t tid, double begin_ns, double end_ns) const {
  return covers(begin_ns, end_ns) && (left_out_.empty() || left_out_ns(tid, begin_ns, end_ns) <= 0);
}

double Switches::covered_part(std::uint32_t tid, double begin_ns, double end_ns) const {
  if (end_ns <= begin_ns) return 0;
  return std::max(0.0, covered_part(begin_ns, end_ns) - left_out_ns(tid, begin_ns, end_ns) / (end_ns - begin_ns));
}

double Switches::covered_part(double begin_ns, double end_ns) const {
  if (end_ns <= begin_ns) return 0;
  double covered_ns = 0;
  for (const Cover& cover : covers_)
    covered_ns += std::max(0.0, std::min(cover.end_ns, end_ns) - std::max(cover.begin_ns, begin_ns));
  return covered_ns / (end_ns - begin_ns);
}

std::vector<OffCpu>::const_iterator ThreadSwitches::first_after(double ns) const {
  const std::size_t first = last_.find(spans_.size(), [&](std::size_t i) { return spans_[i].in_ns <= ns; });
  return spans_.begin() + static_cast<std::ptrdiff_t>(first);
}

OffTime ThreadSwitches::between(double begin_ns, double end_ns) const {
  OffTime time;
  for (auto span = first_after(begin_ns); span != spans_.end() && span->out_ns < end_ns; ++span) {
    const double ns = std::min(span->in_ns, end_ns) - std::max(span->out_ns, begin_ns);
    (span->runnable ? time.preempted_ns : time.waiting_ns) += std::max(0.0, ns);
  }
  return time;
}

std::uint32_t ThreadSwitches::count_between(double begin_ns, double end_ns) const {
  std::uint32_t count = 0;
  for (auto span = first_after(begin_ns); span != spans_.end() && span->out_ns < end_ns; ++span)
    count += span->out_ns >= begin_ns;
  return count;
}

std::uint32_t ThreadSwitches::migrations_between(double begin_ns, double end_ns) const {
  std::uint32_t count = 0;
  for (auto span = first_after(begin_ns); span != spans_.end() && span->in_ns < end_ns; ++span)
    count += span->in_cpu != span->out_cpu;
  return count;
}

}  // namespace hostprobe::analysis
