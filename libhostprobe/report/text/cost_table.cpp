// cost_table.cpp: see cost_table.h.
#include "cost_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/columns.h"
#include "report/text_table.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kDearest = 12;

std::string pct_or_unknown(const std::optional<double>& pct) { return pct ? fmt::format("{:.2f}", *pct) : "?"; }

std::string ms_or_nothing(double ms) { return ms > 0 ? ms_text(ms) : ""; }

void add_cost(const ProcessAnswer& process, TextTable& table) {
  const OwnCost& cost = *process.own_cost;
  table.add({std::to_string(process.pid), process.rank ? std::to_string(*process.rank) : "-",
             pct_or_unknown(cost.steps_pct), pct_or_unknown(process.own_cpu_pct()),
             ms_or_nothing(cost.records_ms + cost.quiet_ms), ms_or_nothing(cost.slow_ms),
             ms_or_nothing(cost.switches_ms), ms_or_nothing(cost.samples_ms), ms_or_nothing(cost.writer_ms)});
}

}  // namespace

std::string cost_table(const RunAnswer& run, const ReportOptions& options) {
  std::vector<const ProcessAnswer*> all;
  for (const ProcessAnswer& process : run.processes)
    if (process.own_cost && options.shows(process)) all.push_back(&process);
  std::stable_sort(all.begin(), all.end(), [](const ProcessAnswer* l, const ProcessAnswer* r) {
    return l->own_cost->total_ms() > r->own_cost->total_ms();
  });
  TextTable table({{.heading = "pid"},
                   {.heading = "rank"},
                   {.heading = "% of steps"},
                   {.heading = "% of CPU"},
                   {.heading = "calls"},
                   {.heading = "stacks", .spare = 2},
                   {.heading = "switches"},
                   {.heading = "samples", .spare = 1},
                   {.heading = "own thread"}});
  for (std::size_t i = 0; i < all.size() && (i < kDearest || options.all); ++i) add_cost(*all[i], table);
  return all.empty() ? std::string() : table.text(options.width) + more_text(table.rows(), all.size());
}

}  // namespace hostprobe::analysis
