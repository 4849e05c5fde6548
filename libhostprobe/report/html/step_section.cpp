// step_section.cpp: see step_section.h.
#include "step_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "amount.h"
#include "chart.h"
#include "chosen_ranks.h"
#include "lane_section.h"
#include "member.h"
#include "table.h"

namespace hostprobe::analysis {
namespace {

constexpr double kTallest = 5;       // medians: what is longer is cut, or nothing else could be seen
constexpr std::size_t kMarks = 200;  // of events over the strip
// Excess in medians from which on a cell has the next colour.
constexpr double kLevels[] = {0.1, 0.25, 0.5, 1, 2};

std::string style_of_type(const std::string& type) { return type.empty() ? "step-other" : "step-" + type; }

std::size_t column_at(const JsonValue::Array& begins_s, double at_s) {
  std::size_t column = 0;
  while (column + 1 < begins_s.size() && number_of(begins_s[column + 1]).value_or(0) <= at_s) ++column;
  return column;
}

// What hostprobe did and what befell that process, where it was.
std::vector<Strip::Mark> marks_of(const JsonValue& document, const JsonValue& longest) {
  std::vector<Strip::Mark> marks;
  const JsonValue* process = process_in(document, longest);
  const auto& begins_s = list_in(longest, "at_s");
  if (process == nullptr || begins_s.empty()) return marks;
  const auto add = [&](const JsonValue& of, const std::string& style, const std::string& what) {
    const auto at_s = number_in(of, "at_s");
    if (at_s && marks.size() < kMarks)
      marks.push_back({column_at(begins_s, *at_s), "mark-" + style, fmt::format("{:.2f} s: {}", *at_s, what)});
  };
  for (const JsonValue& event : list_in(*process, "events")) {
    const std::string kind = text_in(event, "kind"), text = text_in(event, "text");
    add(event, kind, spaced(kind) + (text.empty() ? "" : ", " + text));
  }
  for (const JsonValue& trial : list_in(document, "trials"))
    if (number_in(trial, "pid") == number_in(*process, "pid"))
      add(trial, "trial", "fix " + text_in(trial, "fix") + " " + text_in(trial, "decision"));
  return marks;
}

void add_type_legend(const std::map<std::string, std::size_t>& types, bool has_marks, Markup& page) {
  page.open("ul", {{"class", "legend"}});
  for (const auto& [type, columns] : types)
    page.open("li")
        .empty("span", {{"class", "swatch " + style_of_type(type)}})
        .markup("</span>")
        .text(type.empty() ? "other" : spaced(type))
        .close();
  if (has_marks)
    page.open("li").empty("span", {{"class", "swatch mark-trigger"}}).markup("</span>").text("event").close();
  page.close();
}

void add_strip(const JsonValue& document, const JsonValue& map, Markup& page) {
  const JsonValue& longest = member(map, "longest");
  const double median = number_in(map, "median_ms").value_or(0);
  Strip drawn;
  std::map<std::string, std::size_t> types;
  double most = 0;
  for (const JsonValue& ms : list_in(longest, "ms")) {
    drawn.heights.push_back(number_of(ms).value_or(-1));
    most = std::max(most, drawn.heights.back());
  }
  for (const JsonValue& type : list_in(longest, "type")) {
    drawn.styles.push_back(style_of_type(text_of(type)));
    ++types[text_of(type)];
  }
  drawn.styles.resize(drawn.heights.size(), "step-other");
  const bool is_cut = median > 0 && most > kTallest * median;
  drawn.most = std::max(is_cut ? kTallest * median : most, 1e-9);
  drawn.marks = marks_of(document, longest);
  const double per_column = number_in(map, "steps_per_column").value_or(1);
  const std::string label =
      fmt::format("Length of the {} steps of {}{}, up to {}{}", count_amount(number_in(map, "steps")), who_in(longest),
                  per_column > 1 ? fmt::format(", the longest of each {:.0f}", per_column) : "", ms_amount(drawn.most),
                  is_cut ? "; longer ones are cut" : "");
  page.open("figure").element("figcaption", label).open("div", {{"class", "zoom"}});
  page.markup(strip(drawn, "strip", label)).close();
  add_type_legend(types, !drawn.marks.empty(), page);
  page.close();
}

// A row of the map: one rank, or of many ranks the worst of some side by side.
struct MapRow {
  std::string who;
  std::vector<const JsonValue::Array*> ranks;
  std::optional<double> at(std::size_t column) const {
    std::optional<double> most;
    for (const JsonValue::Array* rank : ranks)
      if (const auto ms = column < rank->size() ? number_of((*rank)[column]) : std::nullopt)
        most = std::max(most.value_or(0), *ms);
    return most;
  }
};

std::vector<MapRow> map_rows(const JsonValue& map) {
  const auto& ranks = list_in(map, "ranks");
  const std::size_t in_row = (ranks.size() + kManyRanks - 1) / kManyRanks;
  std::vector<MapRow> rows;
  for (std::size_t at = 0; at < ranks.size(); at += in_row) {
    const std::size_t end = std::min(ranks.size(), at + in_row);
    MapRow row = {.who = who_in(ranks[at]), .ranks = {}};
    if (end - at > 1) row.who += fmt::format(" to {}", who_in(ranks[end - 1]));
    for (std::size_t one = at; one < end; ++one) row.ranks.push_back(&list_in(ranks[one], "excess_ms"));
    rows.push_back(std::move(row));
  }
  return rows;
}

int level_of(const std::optional<double>& excess_ms, double median_ms) {
  if (!excess_ms) return -1;
  int level = 0;
  for (const double least : kLevels) level += median_ms > 0 && *excess_ms >= least * median_ms;
  return level;
}

void add_levels_legend(Markup& page) {
  page.open("ul", {{"class", "legend"}}).element("li", "Longer than the median step of its type by");
  for (std::size_t i = 0; i < std::size(kLevels); ++i)
    page.open("li")
        .empty("span", {{"class", fmt::format("swatch level{}", i + 1)}})
        .markup("</span>")
        .text(fmt::format("{:.0f} %", 100 * kLevels[i]))
        .close();
  page.open("li").empty("span", {{"class", "swatch unseen"}}).markup("</span>").text("not seen").close().close();
}

void add_row_table(const std::vector<MapRow>& rows, std::size_t columns, const JsonValue& map, Markup& page) {
  page.open("details").element("summary", "The map as a table");
  Table table("Largest excess over the median step", {{.title = "On"}, {.title = "Longest by"}, {.title = "At step"}});
  const auto& numbers = list_in(map, "first_number");
  for (const MapRow& row : rows) {
    std::optional<double> most;
    std::size_t at = 0;
    for (std::size_t column = 0; column < columns; ++column)
      if (const auto ms = row.at(column); ms && *ms > most.value_or(-1)) {
        most = ms;
        at = column;
      }
    const auto number = most && at < numbers.size() ? number_of(numbers[at]) : std::nullopt;
    table.row({text_cell(row.who), number_cell(ms_amount(most), most), number_cell(count_amount(number), number)});
  }
  table.write(page, "");
  page.close();
}

void add_slowest(const JsonValue& document, Markup& page) {
  Table table("The slowest steps, beside others of their type", {{.title = "Step"},
                                                                 {.title = "Type", .is_number = false},
                                                                 {.title = "At"},
                                                                 {.title = "Took"},
                                                                 {.title = "Longer by"}});
  for (const JsonValue& step : list_in(document, "steps.slowest")) {
    const auto number = number_in(step, "number"), at_s = number_in(step, "at_s"), ms = number_in(step, "ms"),
               excess = number_in(step, "excess_ms");
    table.row({number_cell(count_amount(number), number), text_cell(spaced(text_in(step, "type"))),
               number_cell(fmt::format("{:.3f} s", at_s.value_or(0)), at_s), number_cell(ms_amount(ms), ms),
               number_cell(ms_amount(excess), excess)});
  }
  table.write(page, "No step has a place in time.");
}

void add_events(const JsonValue& document, Markup& page) {
  constexpr std::size_t kMostEvents = 100;
  Table table("What hostprobe did meanwhile, and what befell the processes", {{.title = "Process", .is_number = false},
                                                                              {.title = "At"},
                                                                              {.title = "What", .is_number = false},
                                                                              {.title = "Said", .is_number = false}});
  std::size_t events = 0;
  for (const JsonValue& process : list_in(document, "processes"))
    for (const JsonValue& event : list_in(process, "events")) {
      if (++events > kMostEvents) continue;
      const auto at_s = number_in(event, "at_s");
      table.row({text_cell(who_in(process)), number_cell(fmt::format("{:.2f} s", at_s.value_or(0)), at_s),
                 text_cell(spaced(text_in(event, "kind"))), name_cell(text_in(event, "text"))},
                number_in(process, "rank"));
    }
  if (events == 0) return;
  page.open("details").element(
      "summary", fmt::format("{} events{}", events, events > kMostEvents ? ", of which 100 are shown" : ""));
  table.write(page, "");
  page.close();
}

}  // namespace

void add_step_map(const JsonValue& map, const std::string& id, Markup& page) {
  const std::vector<MapRow> rows = map_rows(map);
  const std::size_t columns = list_in(map, "first_number").size();
  if (rows.empty() || columns == 0) {
    page.element("p", "No step has a place in time.", {{"class", "nothing"}});
    return;
  }
  const double median = number_in(map, "median_ms").value_or(0);
  const std::string who =
      rows.size() == 1 ? rows.front().who : fmt::format("{} at the top to {}", rows.front().who, rows.back().who);
  const std::string label =
      fmt::format("By how much each of {} steps was longer than the median, {}; steps from left to right, {}",
                  count_amount(number_in(map, "steps")), ms_amount(median), who);
  page.open("figure").element("figcaption", label).open("div", {{"class", "zoom"}});
  page.markup(
      cell_map({.columns = columns,
                .rows = rows.size(),
                .row_height = rows.size() > 16 ? 8 : 16,
                .level = [&](std::size_t column, std::size_t row) { return level_of(rows[row].at(column), median); }},
               id, label));
  page.close();
  add_levels_legend(page);
  add_row_table(rows, columns, map, page);
  page.close();
}

void add_steps(const JsonValue& document, Markup& page) {
  page.open("section", {{"id", "steps"}}).element("h2", "Steps over time");
  const JsonValue& map = member(document, "steps.map");
  if (map.is_null()) {
    page.element("p", "No step has a place in time.", {{"class", "nothing"}});
  } else {
    add_strip(document, map, page);
    page.element("h3", "Ranks and steps");
    add_step_map(map, "map", page);
    add_slowest(document, page);
  }
  add_events(document, page);
  page.close();
  add_worst_step(document, page);
}

}  // namespace hostprobe::analysis
