// action_sentences.cpp: see action_sentences.h.
#include "action_sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "report/columns.h"
#include "report/text_table.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostPerProcess = 6;

std::string who(const ProcessAnswer& process) {
  return process.kind == ProcessKind::kRank ? fmt::format("Rank {}", process.rank.value_or(0))
                                            : fmt::format("Process {}", process.pid);
}

std::string with_text(const std::string& sentence, const ActionAnswer& event) {
  return event.text.empty() ? sentence : sentence + " (" + printable(event.text) + ")";
}

std::string trigger_text(std::uint32_t reason) {
  switch (TriggerCause{reason}) {
    case TriggerCause::kSlowStep:
      return "a slow step";
    case TriggerCause::kSignal:
      return "a signal";
    case TriggerCause::kCommand:
      return "`hostprobe ctl`";
    case TriggerCause::kProgram:
      return "a call of the program";
    case TriggerCause::kHang:
      return "no progress";
    default:
      return trigger_reason_name(reason);
  }
}

// The fix `auto` is asked for in every process of a job, and speaks of steps: of its ranks, or without ranks of the program. Workers
// and launchers make none, and have nothing to say about that.
bool is_beside_the_point(const RunAnswer& run, const ProcessAnswer& process, const ActionAnswer& event) {
  if (event.kind != ActionKind::kFix || !event.text.starts_with("auto")) return false;
  if (process.kind == ProcessKind::kRank || process.steps.lengths.count > 0) return false;
  return run.ranks > 0 || process.kind == ProcessKind::kWorker || process.task != ProcessTask::kUnknown;
}

std::string megabytes(std::uint64_t bytes) { return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / 1048576); }

// "" = told in sum.
std::string sentence_of(const ActionAnswer& event) {
  switch (event.kind) {
    case ActionKind::kTrigger:
      if (is_refused_trigger(event)) return {};
      return with_text(
          fmt::format("dump {}, for {}: {} records", event.number, trigger_text(event.reason), grouped(event.amount)),
          event);
    case ActionKind::kDumpGone:
    case ActionKind::kHalted:  // nothing that hostprobe did: findings tell of these two
    case ActionKind::kThrottled:
    case ActionKind::kStepsKnown:
    case ActionKind::kReadInPart:  // losses tell of them
    case ActionKind::kLeftOut:
      return {};
    case ActionKind::kStarted:
      return with_text("recording goes on", event);
    case ActionKind::kStopped:
      return with_text("recording pauses", event);
    case ActionKind::kSetting:
      return "setting " + printable(event.text);
    case ActionKind::kFix:
      return "fix " + printable(event.text);
    case ActionKind::kDetail:
      return with_text(event.number == 0 ? fmt::format("full detail again, at a cost of {:.2f} %",
                                                       1e-3 * static_cast<double>(event.amount))
                                         : fmt::format("detail reduced to level {} of 4, because it cost {:.2f} %",
                                                       event.number, 1e-3 * static_cast<double>(event.amount)),
                       event);
    case ActionKind::kProfile:
      return is_whole_window(event) ? fmt::format("profile window {}, {}: {}", event.number, megabytes(event.amount),
                                                  printable(event.text))
                                    : fmt::format("no profile window: {}", printable(event.text));
    case ActionKind::kGuessed:
      return printable(event.text);
    case ActionKind::kSource:
      return fmt::format("not recorded: {} ({})", printable(event.text), std::strerror(static_cast<int>(event.reason)));
    default:
      return with_text(action_kind_name(event.kind), event);
  }
}

// What is worth a number, not a line each.
void add_totals(const ProcessAnswer& process, std::vector<std::string>& sentences) {
  std::uint64_t refused = 0, gone = 0, gone_bytes = 0;
  for (const ActionAnswer& event : process.actions) {
    refused += is_refused_trigger(event) ? std::max<std::uint64_t>(event.amount, 1) : 0;
    gone += event.kind == ActionKind::kDumpGone;
    gone_bytes += event.kind == ActionKind::kDumpGone ? event.amount : 0;
  }
  if (refused > 0)
    sentences.push_back(
        fmt::format("{}: {} within HOSTPROBE_TRIGGER_S of a dump and {} no dump of {} own.", who(process),
                    refused == 1 ? "1 more trigger came" : fmt::format("{} more triggers came", grouped(refused)),
                    refused == 1 ? "has" : "have", refused == 1 ? "its" : "their"));
  if (gone > 0)
    sentences.push_back(fmt::format("{}: {} ({}) removed, the oldest first, to keep to HOSTPROBE_DUMPS_MB.",
                                    who(process), gone == 1 ? "1 dump" : fmt::format("{} dumps", grouped(gone)),
                                    megabytes(gone_bytes)));
  if (process.skipped > 0)
    sentences.push_back(fmt::format("{}: {} calls were not recorded, to keep to HOSTPROBE_BUDGET.", who(process),
                                    grouped(process.skipped)));
}

std::string interval_text(const TrialAnswer& trial) {
  if (!trial.has_interval) return "too few windows";
  return fmt::format("{:.2f} to {:.2f} %", trial.gain_low_pct, trial.gain_high_pct);
}

std::string whose(const ProcessAnswer& process) {
  return process.rank ? fmt::format("rank {}", *process.rank) : fmt::format("pid {}", process.pid);
}

void add_trial(const ProcessAnswer& process, double at_s, const TrialAnswer& trial, TextTable& table) {
  table.add({fmt::format("{:.1f} s", at_s), whose(process), printable(trial.fix), printable(trial.verdict),
             fmt::format("{} and {}", trial.windows_without, trial.windows_with), ms_text(trial.step_without_ms),
             ms_text(trial.step_with_ms), fmt::format("{:.2f} %", trial.gain_pct), interval_text(trial)});
}

}  // namespace

std::vector<std::string> action_sentences(const RunAnswer& run, bool all) {
  std::vector<std::string> sentences;
  for (const ProcessAnswer& process : run.processes) {
    std::size_t told = 0, left_out = 0;
    for (const ActionAnswer& event : process.actions) {
      const std::string sentence = event.trial ? "" : sentence_of(event);  // those have a table
      if (sentence.empty() || is_beside_the_point(run, process, event)) continue;
      if (!all && told >= kMostPerProcess && !is_asked_trigger(event)) {
        ++left_out;
        continue;
      }
      ++told;
      sentences.push_back(fmt::format("{} at {:.2f} s: {}.", who(process), event.at_s, sentence));
    }
    if (left_out > 0) sentences.push_back(fmt::format("{}: … and {} more (--all).", who(process), left_out));
    add_totals(process, sentences);
  }
  return sentences;
}

std::string visible_part(const ProcessAnswer& process) {
  if (process.summed_only == 0) return {};
  const auto dumps = std::count_if(process.actions.begin(), process.actions.end(), [](const ActionAnswer& event) {
    return event.kind == ActionKind::kTrigger && !is_refused_trigger(event);
  });
  const std::string in_dumps =
      dumps == 0 ? "" : fmt::format(" and what {} kept", dumps == 1 ? "the dump" : fmt::format("the {} dumps", dumps));
  if (!process.whole_since_ms)
    return fmt::format("Only counters: {} calls have no records of their own, so no order, no skew, no stacks{}.",
                       grouped(process.summed_only), dumps == 0 ? "" : " but in what the dumps kept");
  const double seen_ms = std::max(0.0, process.wall_ms - *process.whole_since_ms);
  return fmt::format("Call by call: the last {}{}; of {} calls before only counters.", duration_text(1e6 * seen_ms),
                     in_dumps, grouped(process.summed_only));
}

std::string trial_table(const RunAnswer& run, std::size_t width) {
  TextTable table({{.heading = "at"},
                   {.heading = "decided by", .is_name = true, .spare = 2},
                   {.heading = "fix", .is_name = true},
                   {.heading = "decision", .is_name = true},
                   {.heading = "windows", .spare = 1},
                   {.heading = "a step without"},
                   {.heading = "with"},
                   {.heading = "gain"},
                   {.heading = "95 % sure", .is_name = true}});
  for (const ProcessAnswer& process : run.processes)
    for (const ActionAnswer& action : process.actions)
      if (action.trial) add_trial(process, action.at_s, *action.trial, table);
  return table.text(width);
}

}  // namespace hostprobe::analysis
