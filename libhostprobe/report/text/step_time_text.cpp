// step_time_text.cpp: see step_time_text.h.
#include "step_time_text.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "answer/telling_frames.h"
#include "report/cause_word.h"
#include "report/columns.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kShownRows = 6;
constexpr double kLeastPct = 0.5;  // of the steps, for a row of its own

struct Row {
  Cause cause = Cause::kUnexplained;
  double ns = 0;
  std::uint64_t pieces = 0;
  std::map<std::uint32_t, double> ranks;
  const LostTime* heaviest = nullptr;
};

std::vector<Row> rows_of(const StepTime& time) {
  std::map<std::string_view, Row> rows;  // by their ids
  for (const LostTime& lost : time.lost) {
    Row& row = rows[cause_id(lost.cause)];
    row.cause = reported_cause(lost.cause);
    row.ns += lost.ns;
    row.pieces += lost.pieces;
    row.ranks[lost.member] += lost.ns;
    if (row.heaviest == nullptr || lost.ns > row.heaviest->ns) row.heaviest = &lost;
  }
  std::vector<Row> sorted;
  for (auto& [id, row] : rows) sorted.push_back(std::move(row));
  std::sort(sorted.begin(), sorted.end(), [](const Row& l, const Row& r) { return l.ns > r.ns; });
  return sorted;
}

std::string rank_name(const RunAnswer& run, std::uint32_t member) {
  const ProcessAnswer* process = run.step_member(member);
  if (process == nullptr) return "?";
  return process->rank ? fmt::format("rank {}", *process->rank) : fmt::format("pid {}", process->pid);
}

// The one where most of it sits, and how much.
std::string ranks_text(const RunAnswer& run, const Row& row) {
  if (run.step_members.size() < 2 || row.heaviest->of_all) return "";
  const auto most = std::max_element(row.ranks.begin(), row.ranks.end(),
                                     [](const auto& l, const auto& r) { return l.second < r.second; });
  return fmt::format("{} {:.0f} %", rank_name(run, most->first), row.ns > 0 ? 100 * most->second / row.ns : 0);
}

std::string site_text(const Row& row) {
  const LostSite& site = row.heaviest->site;
  if (row.cause == Cause::kGpuBound) return "";
  std::string text = !site.stack.empty() ? telling_place(site.stack) : site.function;
  if (!site.holder.empty())
    text += fmt::format("{}for thread {} ({})", text.empty() ? "" : ", ", site.holder_tid, site.holder_title);
  return printable(text);
}

// "": not worth a word.
const char* unknown_text(const RunAnswer& run) {
  switch (run.step_time_unknown) {
    case TimeUnknown::kKnown:
    case TimeUnknown::kNoWorker:
      return "";
    case TimeUnknown::kNoSteps:
      return run.ranks > 0 ? "no steps were found, marked or repeating (docs/steps.md)" : "";
    case TimeUnknown::kClocks:
      return "the clocks of the ranks' hosts cannot be aligned";
    case TimeUnknown::kNoRecords:
      return "this mode keeps only counters; `flight` and `trace` keep records";
    case TimeUnknown::kLostRecords:
      return "records of a thread that makes the steps are missing";
    case TimeUnknown::kLostActivities:
      return "not all that ran on the GPU was recorded";
    case TimeUnknown::kTooMany:
      return "too many calls to look at without steps; mark them (docs/steps.md)";
    case TimeUnknown::kChanged:
      return "a file changed while it was read";
  }
  return "";
}

std::string why_unknown(const RunAnswer& run) {
  const std::string why = unknown_text(run);
  return why.empty() ? why : "\nWHERE THE TIME WENT · not known: " + why + "\n";
}

}  // namespace

std::string step_time_text(const RunAnswer& run, bool all) {
  if (!run.step_time || run.step_time->length_ns <= 0) return why_unknown(run);
  const StepTime& time = *run.step_time;
  struct Text : Lines {
  } text;
  text.line("");
  text.line("WHERE THE TIME WENT · {}, mean of all ranks; what others wait for sits on the rank that is late",
            run.steps.lengths.count > 0 ? plural(time.steps, "step", "steps") : "the run");
  text.line("{} {:>6} {:>9} {:>8}  {} {}", left("cause", 16), "share", "per step", "pieces", left("most on", 14),
            "site");
  std::size_t shown = 0, left_out = 0;
  for (const Row& row : rows_of(time)) {
    const double pct = 100 * row.ns / time.length_ns;
    if (!all && (shown >= kShownRows || pct < kLeastPct)) {
      ++left_out;
      continue;
    }
    ++shown;
    text.line("{} {:>5.1f}% {} {:>8}  {} {}", left(cause_word(run, row.cause), 16), pct,
              right(duration_text(row.ns / static_cast<double>(time.steps)), 9), compact(row.pieces),
              left(ranks_text(run, row), 14), shortened(site_text(row), 40));
  }
  if (left_out > 0) text.line("  … and {} more (--all)", left_out);
  return text.take();
}

}  // namespace hostprobe::analysis
