// rank_history.cpp: see rank_history.h.
#include "rank_history.h"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <utility>

#include "format/own_cost.h"
#include "format/trial_text.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kShownSteps = 60, kMedianSteps = 31;

double seconds(std::uint64_t from_ns, std::uint64_t to_ns) {
  return to_ns > from_ns ? 1e-9 * static_cast<double>(to_ns - from_ns) : 0;
}

std::optional<double> share_pct(std::uint64_t from_ns, std::uint64_t to_ns, double wall_s) {
  if (wall_s <= 0 || to_ns < from_ns) return std::nullopt;
  return 100 * 1e-9 * static_cast<double>(to_ns - from_ns) / wall_s;
}

const ThreadEntry* same_thread(const SegmentReading& reading, const ThreadEntry& thread) {
  const auto found = std::find_if(reading.threads.begin(), reading.threads.end(), [&](const ThreadEntry& one) {
    return one.tid == thread.tid && one.start_ticks == thread.start_ticks;
  });
  return found == reading.threads.end() ? nullptr : &*found;
}

}  // namespace

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::optional<LiveSteps> live_steps(const std::vector<StepPlace>& steps, std::uint64_t count, std::uint64_t now_ns) {
  if (steps.empty()) return std::nullopt;
  LiveSteps live{.count = count, .since_s = seconds(steps.back().end_ns, now_ns)};
  for (std::size_t i = steps.size() - std::min(steps.size(), kShownSteps); i < steps.size(); ++i)
    live.last_ms.push_back(1e-6 * static_cast<double>(steps[i].length_ns));
  const std::size_t usual = std::min(live.last_ms.size(), kMedianSteps);
  live.median_ms = median_of({live.last_ms.end() - static_cast<std::ptrdiff_t>(usual), live.last_ms.end()});
  const StepPlace& first = steps[steps.size() - usual];
  const double span_s = seconds(first.end_ns - std::min(first.end_ns, first.length_ns), steps.back().end_ns);
  live.per_s = span_s > 0 ? static_cast<double>(usual) / span_s : 0;
  return live;
}

std::optional<LiveAuto> live_auto(const ShownTrial& shown) {
  if (shown.stage == AutoStage::kOff || shown.stage > AutoStage::kOver) return std::nullopt;
  const auto text = [](const auto& field) { return printable({field, strnlen(field, sizeof field)}); };
  LiveAuto live{.stage = shown.stage,
                .fix = text(shown.fix),
                .decision = text(shown.decision),
                .pairs = shown.pairs,
                .without_ms = shown.without_ms,
                .with_ms = shown.with_ms,
                .gain_pct = shown.gain_pct};
  if (shown.pairs >= kTrialLeastPairs) live.interval_pct = {shown.low_pct, shown.high_pct};
  std::istringstream kept(text(shown.kept));
  for (std::string fix; std::getline(kept, fix, ',');) live.kept.push_back(fix);
  return live;
}

std::optional<LiveAuto> RankHistory::fix_auto() const {
  return readings_.empty() ? std::nullopt : live_auto(readings_.back().trial);
}

void RankHistory::add(SegmentReading reading, const FileHeader& header) {
  header_ = header;
  // Of threads whose entries are gone the header knows; of the others the entries are newer.
  reading.records = std::max(reading.records, header.records);
  reading.quiet_calls = std::max(reading.quiet_calls, header.quiet_calls);
  reading.own_ticks = std::max(reading.own_ticks, header.own_ticks);
  reading.lost = std::max(reading.lost, header.lost);
  readings_.push_back(std::move(reading));
  while (readings_.size() > 2 && readings_[1].at_ns + kRecentNs <= readings_.back().at_ns) readings_.pop_front();
}

double RankHistory::ns_per_tick() const {
  const ClockPair& then = header_.start;
  const ClockPair& now = readings_.back().clock;
  if (now.ticks <= then.ticks) return 0;
  return static_cast<double>(now.monotonic_ns - then.monotonic_ns) / static_cast<double>(now.ticks - then.ticks);
}

std::optional<double> RankHistory::own_ns(const SegmentReading& reading) const {
  if (header_.record_cost_ticks == 0) return std::nullopt;
  const double ticks = recording_ticks(reading.records, 0, header_.record_cost_ticks) +
                       quiet_ticks(reading.quiet_calls, reading.skipped, header_.quiet_cost_ticks) +
                       static_cast<double>(reading.own_ticks);
  return ticks * ns_per_tick() + static_cast<double>(reading.writer_cpu_ns);
}

void RankHistory::add_rates(LiveRank& rank) const {
  const SegmentReading &first = readings_.front(), &last = readings_.back();
  const double refreshed_s = seconds(first.clock.monotonic_ns, last.clock.monotonic_ns);
  rank.cpu_pct = share_pct(first.process_cpu_ns, last.process_cpu_ns, refreshed_s);
  rank.throttled_pct = share_pct(first.throttled_ns, last.throttled_ns, seconds(first.at_ns, last.at_ns));
  const auto before = own_ns(first), now = own_ns(last);
  if (before && now && refreshed_s > 0) rank.own_cost_pct = std::max(0.0, 100 * 1e-9 * (*now - *before) / refreshed_s);
}

LiveThread RankHistory::thread(const ThreadEntry& now, const HookName& hook_name) const {
  const SegmentReading &first = readings_.front(), &last = readings_.back();
  LiveThread thread{.tid = now.tid, .name = std::string(now.name, strnlen(now.name, sizeof now.name))};
  if (const ThreadEntry* before = same_thread(first, now); before != nullptr && readings_.size() > 1) {
    const double wall_s = seconds(first.at_ns, last.at_ns);
    thread.cpu_pct = share_pct(before->cpu_ns, now.cpu_ns, wall_s);
    thread.ready_pct = share_pct(before->run_delay_ns, now.run_delay_ns, wall_s);
  }
  if (now.open.key != 0) {
    const double begin_ns = static_cast<double>(header_.start.monotonic_ns) +
                            static_cast<double>(now.open.begin_ticks - header_.start.ticks) * ns_per_tick();
    thread.in =
        LiveCall{hook_name(sum_hook(now.open.key)), std::max(0.0, 1e-9 * (static_cast<double>(last.at_ns) - begin_ns))};
  }
  return thread;
}

void RankHistory::add_threads(LiveRank& rank, const HookName& hook_name) const {
  for (const ThreadEntry& entry : readings_.back().threads) {
    rank.threads.push_back(thread(entry, hook_name));
    if (entry.tid != header_.pid) continue;
    rank.in = rank.threads.back().in;
    rank.ready_pct = rank.threads.back().ready_pct;
  }
  std::stable_sort(rank.threads.begin(), rank.threads.end(), [](const LiveThread& l, const LiveThread& r) {
    return l.cpu_pct.value_or(0) > r.cpu_pct.value_or(0);
  });
}

LiveRank RankHistory::rank(const HookName& hook_name) const {
  LiveRank rank;
  if (header_.rank >= 0) rank.rank = header_.rank;
  rank.pid = static_cast<pid_t>(header_.pid);
  if (header_.incarnation > 1) rank.restart = static_cast<int>(header_.incarnation - 1);
  if (readings_.empty()) return rank;
  const SegmentReading& last = readings_.back();
  rank.steps = live_steps(last.steps, last.step_count, last.at_ns);
  rank.lost = last.lost;
  add_rates(rank);
  add_threads(rank, hook_name);
  return rank;
}

std::vector<double> RankHistory::lengths_since(std::uint64_t monotonic_ns) const {
  std::vector<double> lengths;
  if (readings_.empty()) return lengths;
  for (const StepPlace& step : readings_.back().steps)
    if (step.end_ns > monotonic_ns) lengths.push_back(1e-6 * static_cast<double>(step.length_ns));
  return lengths;
}

}  // namespace hostprobe::analysis
