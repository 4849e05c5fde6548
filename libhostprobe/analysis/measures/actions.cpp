// actions.cpp: see actions.h.
#include "actions.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "format/imported.h"
#include "format/own_cost.h"
#include "format/trial_text.h"
#include "trace/trace.h"

namespace hostprobe::analysis {
namespace {

// An answer's number is the trace's.
constexpr bool is_same(ActionKind kind, std::uint32_t of_trace) { return static_cast<std::uint32_t>(kind) == of_trace; }
static_assert(is_same(ActionKind::kTrigger, kEventTrigger) && is_same(ActionKind::kDumpGone, kEventDumpGone) &&
              is_same(ActionKind::kStarted, kEventStarted) && is_same(ActionKind::kStopped, kEventStopped) &&
              is_same(ActionKind::kSetting, kEventSetting) && is_same(ActionKind::kDetail, kEventDetail) &&
              is_same(ActionKind::kChildEnded, kEventChildEnded) && is_same(ActionKind::kFix, kEventFix) &&
              is_same(ActionKind::kHalted, kEventHalted) && is_same(ActionKind::kThrottled, kEventThrottled) &&
              is_same(ActionKind::kSource, kEventSource) && is_same(ActionKind::kReadInPart, kEventReadInPart) &&
              is_same(ActionKind::kLeftOut, kEventLeftOut) && is_same(ActionKind::kStepsKnown, kEventStepsKnown) &&
              is_same(ActionKind::kProfile, kEventProfile) && is_same(ActionKind::kGuessed, kEventGuessed));

constexpr bool is_same(TriggerCause cause, std::uint32_t of_trace) {
  return static_cast<std::uint32_t>(cause) == of_trace;
}
static_assert(is_same(TriggerCause::kSlowStep, kBySlowStep) && is_same(TriggerCause::kSignal, kBySignal) &&
              is_same(TriggerCause::kCommand, kByCommand) && is_same(TriggerCause::kProgram, kByProgram) &&
              is_same(TriggerCause::kHang, kByHang));

}  // namespace

std::optional<TrialAnswer> trial_in(const std::string& text) {
  char fix[32], verdict[16];
  TrialAnswer trial;
  const int got = std::sscanf(text.c_str(), kTrialScan, fix, verdict, &trial.windows_without, &trial.windows_with,
                              &trial.step_without_ms, &trial.step_with_ms, &trial.gain_pct, &trial.gain_low_pct,
                              &trial.gain_high_pct);
  if (got != 9) return std::nullopt;
  trial.fix = fix;
  trial.verdict = verdict;
  trial.has_interval = trial.windows_without >= kTrialLeastPairs;
  return trial;
}

std::vector<ActionAnswer> actions_of(const Trace& trace, std::uint64_t start_monotonic_ns) {
  std::vector<ActionAnswer> actions;
  for (const EventRow& row : trace.events) {
    if (row.kind == kEventChildEnded || row.kind == kEventWritesPipe || row.kind == kEventThreadName ||
        row.kind == kEventStuckChild)
      continue;                                                 // nothing that hostprobe did
    if (row.kind == kEventHalted && row.amount == 0) continue;  // a sign of a stop, not one
    const auto since_ns = static_cast<std::int64_t>(trace.clock.monotonic_ns(row.ticks) - start_monotonic_ns);
    actions.push_back({ActionKind{row.kind}, row.reason, 1e-9 * static_cast<double>(since_ns), row.number, row.amount,
                       std::string(row.text, strnlen(row.text, sizeof(row.text)))});
    if (row.kind == kEventFix) actions.back().trial = trial_in(actions.back().text);
  }
  std::stable_sort(actions.begin(), actions.end(),
                   [](const ActionAnswer& l, const ActionAnswer& r) { return l.at_s < r.at_s; });
  return actions;
}

std::optional<ImportAnswer> answer_import(const std::vector<ActionAnswer>& actions) {
  ImportAnswer answer;
  for (const ActionAnswer& event : actions) {
    if (event.kind == ActionKind::kReadInPart) {
      answer.in_part = true;
      answer.read_bytes = event.number;
      answer.all_bytes = event.amount;
      answer.why = event.text;
    } else if (event.kind == ActionKind::kLeftOut) {
      answer.left_out.push_back({event.text, event.amount, {}});
      if (event.reason == kLeftOutHasPlace) answer.left_out.back().first_byte = event.number;
    } else if (event.kind == ActionKind::kGuessed) {
      answer.is_rank_guessed = (event.number & kGuessedRank) != 0;
      answer.is_host_guessed = (event.number & kGuessedHost) != 0;
    }
  }
  const bool is_told = answer.in_part || !answer.left_out.empty() || answer.is_rank_guessed || answer.is_host_guessed;
  return is_told ? std::optional(std::move(answer)) : std::nullopt;
}

void forget_what_may_be_missing(ProcessAnswer& process) {
  process.gpu.idle_in_steps_pct.reset();
  process.certain_idle.reset();
  process.gaps.reset();
  process.path.reset();
}

std::optional<OwnCost> own_cost(const Trace& trace) {
  const FileHeader& header = trace.header;
  if (!trace.header_whole || header.record_cost_ticks == 0) return std::nullopt;
  std::uint64_t records = 0, aggregated = 0, quiet = 0, skipped = 0, slow_ticks = 0;
  for (const auto& [key, thread] : trace.threads) {
    if (!thread.merged) records += std::max(thread.entry.records, thread.kept);
    quiet += thread.entry.quiet_calls;
    skipped += thread.entry.skipped;
    for (const auto& [place, sum] : thread.short_waits)
      if (sum_site(place) != kSiteSkipped) aggregated += sum.time.count();
    slow_ticks += thread.entry.own_ticks;
  }
  // The header's counters also hold threads whose entries are gone; the threads' own are newer for a live process.
  records = std::max(records, header.records);
  quiet = std::max(quiet, header.quiet_calls);
  slow_ticks = std::max(slow_ticks, header.own_ticks);
  const auto ms = [&trace](double ticks) { return 1e-6 * trace.clock.length_ns(ticks); };
  OwnCost cost;
  cost.records_ms = ms(recording_ticks(records, aggregated, header.record_cost_ticks));
  cost.quiet_ms = ms(quiet_ticks(quiet, skipped, header.quiet_cost_ticks));
  cost.switches_ms = ms(static_cast<double>(header.switch_ticks));
  cost.samples_ms = ms(static_cast<double>(header.sample_ticks));
  cost.slow_ms = std::max(0.0, ms(static_cast<double>(slow_ticks)) - cost.switches_ms - cost.samples_ms);
  cost.writer_ms = 1e-6 * static_cast<double>(trace.writer_cpu_ns);
  cost.writer_for = {1e-6 * static_cast<double>(header.own_records_ns),
                     1e-6 * static_cast<double>(header.own_switches_ns),
                     1e-6 * static_cast<double>(header.own_samples_ns)};
  return cost;
}

}  // namespace hostprobe::analysis
