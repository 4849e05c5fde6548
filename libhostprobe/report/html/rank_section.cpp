// rank_section.cpp: see rank_section.h.
#include "rank_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "amount.h"
#include "chosen_ranks.h"
#include "member.h"
#include "table.h"

namespace hostprobe::analysis {
namespace {

struct Measure {
  const char* title;
  const char* path;  // of a process; behind "main." of its main thread
  std::string (*words)(const MaybeNumber&);
};
constexpr Measure kMeasures[] = {{"Wall time", "wall_ms", ms_amount},
                                 {"CPU, all threads", "cpu_ms", ms_amount},
                                 {"Main thread: CPU", "main.cpu_ms", ms_amount},
                                 {"Main thread: waiting", "main.wait_ms", ms_amount},
                                 {"Main thread: preempted", "main.preempted_ms", ms_amount},
                                 {"Main thread: run queue", "main.run_queue_ms", ms_amount},
                                 {"Main thread: moves", "main.migrations", count_amount},
                                 {"Launch gap, p99", "launches.gap_p99_us", us_amount},
                                 {"Synchronising", "syncs.total_ms", ms_amount},
                                 {"GPU busy", "gpu.busy_ms", ms_amount},
                                 {"GPU idle in steps", "gpu.idle_in_steps_pct", pct_amount},
                                 {"Garbage collection", "gc.total_ms", ms_amount},
                                 {"CPU frequency, GHz", "frequency.median_ghz", plain_amount},
                                 {"Start-up", "start_up.ms", ms_amount},
                                 {"Own cost", "own_cost_pct", pct_amount},
                                 {"Lost records", "lost", count_amount}};

MaybeNumber measured(const JsonValue& process, const Measure& measure) {
  const std::string_view path = measure.path;
  if (!path.starts_with("main.")) return number_in(process, path);
  for (const JsonValue& thread : list_in(process, "threads"))
    if (text_in(thread, "role") == "main") return number_in(thread, path.substr(5));
  return std::nullopt;
}

struct Spread {
  double median = 0;
  const JsonValue* least = nullptr;
  const JsonValue* most = nullptr;
  double lowest = 0, highest = 0;
  // How far the farther end lies from the middle.
  double distance() const {
    const double far = std::max(highest - median, median - lowest);
    return median == 0 ? (far > 0 ? 1e9 : 0) : far / std::abs(median);
  }
};

std::optional<Spread> spread_of(const std::vector<const JsonValue*>& ranks, const Measure& measure) {
  Spread spread;
  std::vector<double> values;
  for (const JsonValue* rank : ranks) {
    const MaybeNumber value = measured(*rank, measure);
    if (!value) continue;
    if (values.empty() || *value < spread.lowest) spread.lowest = *value, spread.least = rank;
    if (values.empty() || *value > spread.highest) spread.highest = *value, spread.most = rank;
    values.push_back(*value);
  }
  if (values.size() < 2) return std::nullopt;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  spread.median = values[values.size() / 2];
  return spread;
}

void add_spreads(const std::vector<const JsonValue*>& ranks, Markup& page) {
  std::vector<std::pair<Spread, const Measure*>> spreads;
  for (const Measure& measure : kMeasures)
    if (const auto spread = spread_of(ranks, measure); spread && spread->highest > spread->lowest)
      spreads.emplace_back(*spread, &measure);
  std::stable_sort(spreads.begin(), spreads.end(),
                   [](const auto& a, const auto& b) { return a.first.distance() > b.first.distance(); });
  Table table("Where ranks differ, the farthest from the median first", {{.title = "Measure"},
                                                                         {.title = "Median"},
                                                                         {.title = "Least"},
                                                                         {.title = "On", .is_number = false},
                                                                         {.title = "Most"},
                                                                         {.title = "On", .is_number = false}});
  for (const auto& [spread, measure] : spreads)
    table.row({text_cell(measure->title), number_cell(measure->words(spread.median), spread.median),
               number_cell(measure->words(spread.lowest), spread.lowest), text_cell(who_in(*spread.least)),
               number_cell(measure->words(spread.highest), spread.highest), text_cell(who_in(*spread.most))});
  table.write(page, "The ranks do not differ in anything that was measured.");
}

// By the sum of their distances from the medians, so that odd ones come first.
std::vector<double> oddness(const std::vector<const JsonValue*>& ranks) {
  std::vector<double> odd(ranks.size());
  for (const Measure& measure : kMeasures) {
    const auto spread = spread_of(ranks, measure);
    if (!spread || spread->highest <= spread->lowest) continue;
    for (std::size_t i = 0; i < ranks.size(); ++i)
      if (const MaybeNumber value = measured(*ranks[i], measure))
        odd[i] += std::abs(*value - spread->median) / (spread->highest - spread->lowest);
  }
  return odd;
}

void add_rank_rows(const std::vector<const JsonValue*>& ranks, const std::vector<std::size_t>& places,
                   const char* caption, Markup& page) {
  std::vector<const Measure*> measures;
  for (const Measure& measure : kMeasures)
    if (std::any_of(ranks.begin(), ranks.end(),
                    [&](const JsonValue* rank) { return measured(*rank, measure).has_value(); }))
      measures.push_back(&measure);
  std::vector<Column> columns = {
      {.title = "Rank"}, {.title = "Host", .is_number = false}, {.title = "Ended", .is_number = false}};
  for (const Measure* measure : measures) columns.push_back({.title = measure->title});
  Table table(caption, columns);
  for (const std::size_t place : places) {
    const JsonValue& rank = *ranks[place];
    std::vector<Cell> cells = {{.text = who_in(rank), .order = number_in(rank, "rank")},
                               name_cell(text_in(rank, "host")),
                               text_cell(text_in(rank, "end.how") + " " + text_in(rank, "end.signal"))};
    for (const Measure* measure : measures) {
      const MaybeNumber value = measured(rank, *measure);
      cells.push_back(number_cell(measure->words(value), value));
    }
    table.row(cells, number_in(rank, "rank"));
  }
  table.write(page, "");
}

}  // namespace

void add_ranks(const JsonValue& document, Markup& page) {
  page.open("section", {{"id", "ranks"}}).element("h2", "What is different about a rank");
  std::vector<const JsonValue*> ranks;
  for (const JsonValue& process : list_in(document, "processes"))
    if (text_in(process, "kind") == "rank") ranks.push_back(&process);
  // A program that is no job is its only rank.
  if (ranks.empty())
    for (const JsonValue& process : list_in(document, "processes")) ranks.push_back(&process);
  if (ranks.empty()) page.element("p", "No process could be read.", {{"class", "nothing"}});
  if (ranks.size() == 1) page.element("p", "There is one, so there is nothing to compare it with.");
  if (ranks.size() > 1) add_spreads(ranks, page);
  const ChosenRanks chosen = choose_ranks(oddness(ranks));
  if (!ranks.empty())
    add_rank_rows(ranks, chosen.shown,
                  chosen.all_shown() ? "All ranks" : "The 16 oddest ranks, the median one, the 8 most usual", page);
  if (!chosen.all_shown()) {
    page.open("details").element("summary", fmt::format("The {} other ranks", chosen.others.size()));
    add_rank_rows(ranks, chosen.others, "Other ranks", page);
    page.close();
  }
  page.close();
}

}  // namespace hostprobe::analysis
