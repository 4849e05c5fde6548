// step_time_table.cpp: see step_time_text.h.
#include "step_time_table.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "answer/telling_frames.h"
#include "report/cause_word.h"
#include "report/columns.h"
#include "report/text_table.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kShownRows = 6;
constexpr double kLeastPct = 0.5;  // of the steps, for a row of its own

struct Row {
  Cause cause = Cause::kUnexplained;
  double ns = 0;
  std::map<std::uint32_t, double> ranks;
  const LostTime* heaviest = nullptr;
};

std::vector<Row> rows_of(const StepTime& time) {
  std::map<std::string_view, Row> rows;  // by their ids
  for (const LostTime& lost : time.lost) {
    Row& row = rows[cause_id(lost.cause)];
    row.cause = reported_cause(lost.cause);
    row.ns += lost.ns;
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
  return !site.stack.empty() ? telling_place(site.stack) : site.function;
}

std::string holder_of(const Row& row) {
  const LostSite& site = row.heaviest->site;
  if (site.holder.empty() || row.cause == Cause::kGpuBound) return "";
  return fmt::format("{} ({})", printable(site.holder_title.empty() ? site.holder : site.holder_title),
                     site.holder_tid);
}

}  // namespace

std::string step_time_table(const RunAnswer& run, const ReportOptions& options) {
  if (!run.step_time || run.step_time->length_ns <= 0) return {};
  const StepTime& time = *run.step_time;
  TextTable table({{.heading = "cause", .is_name = true, .least = 12},
                   {.heading = "share"},
                   {.heading = run.steps.lengths.count > 0 ? "per step" : "in all"},
                   {.heading = "most on", .is_name = true},
                   {.heading = "where", .is_name = true, .least = 20},
                   {.heading = "waits for (thread)", .is_name = true, .spare = 1, .least = 12}});
  std::size_t left_out = 0;
  for (const Row& row : rows_of(time)) {
    const double pct = 100 * row.ns / time.length_ns;
    if (!options.all && (table.rows() >= kShownRows || pct < kLeastPct)) {
      ++left_out;
      continue;
    }
    table.add({cause_word(run, row.cause), fmt::format("{:.1f} %", pct),
               duration_text(row.ns / static_cast<double>(time.steps)), ranks_text(run, row), site_text(row),
               holder_of(row)});
  }
  return table.text(options.width) + more_text(table.rows(), table.rows() + left_out);
}

}  // namespace hostprobe::analysis
