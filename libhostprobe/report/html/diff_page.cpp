// diff_page.cpp: see diff_page.h.
#include "diff_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "amount.h"
#include "chart.h"
#include "member.h"
#include "page_frame.h"
#include "step_section.h"
#include "table.h"

namespace hostprobe::analysis {
namespace {

std::string change_word(const JsonValue& document) {
  const JsonValue& steps = member(document, "steps");
  const auto change = number_in(steps, "change_pct");
  if (flag_in(document, "nothing_in_common")) return "NOTHING TO COMPARE";
  if (!change) return "STEPS CANNOT BE COMPARED";
  if (!flag_in(steps, "significant")) return "NO CHANGE BEYOND NOISE";
  return *change > 0 ? "SLOWER" : "FASTER";
}

std::string change_sentence(const JsonValue& document) {
  const JsonValue& steps = member(document, "steps");
  const auto change = number_in(steps, "change_pct"), low = number_in(steps, "change_low_pct"),
             high = number_in(steps, "change_high_pct");
  if (!change) return "One of the runs, or both, have no step with a place in time.";
  std::string text =
      fmt::format("The median step takes {} in A and {} in B: {}", ms_amount(number_in(steps, "a_median_ms")),
                  ms_amount(number_in(steps, "b_median_ms")), change_amount(change));
  if (low && high)
    text += fmt::format(", between {} and {} in 99 of 100 cases", change_amount(low), change_amount(high));
  if (const auto noise = number_in(steps, "noise_pct"))
    text += fmt::format("; parts of one run differ by {} among themselves", pct_amount(noise));
  return text + ".";
}

void add_change_bar(const JsonValue& document, Markup& page) {
  const JsonValue& steps = member(document, "steps");
  const auto change = number_in(steps, "change_pct"), low = number_in(steps, "change_low_pct"),
             high = number_in(steps, "change_high_pct");
  if (!change) return;
  double widest = std::abs(*change);
  for (const auto& end : {low, high}) widest = std::max(widest, std::abs(end.value_or(0)));
  widest = std::max(widest, 1.0);
  const double least = std::max(-100.0, -widest);  // no step is shorter than nothing
  page.open("p", {{"class", "gain"}});
  page.markup(range_bar({.value = *change, .low = low, .high = high, .from = least, .to = widest},
                        "Change of the median step: " + change_amount(change)));
  page.element("span", fmt::format("from {} to {}", change_amount(least), change_amount(widest))).close();
}

void add_runs(const JsonValue& document, Markup& page) {
  Table table("The two runs", {{.title = "Run"},
                               {.title = "Folder", .is_number = false},
                               {.title = "Ranks"},
                               {.title = "Processes"},
                               {.title = "Mode", .is_number = false},
                               {.title = "Wall time"},
                               {.title = "Steps"},
                               {.title = "Shortest"},
                               {.title = "Median"},
                               {.title = "Longest"}});
  const JsonValue& steps = member(document, "steps");
  for (const std::string side : {"a", "b"}) {
    const JsonValue& run = member(document, side);
    const auto ms = [&](const char* what) {
      const auto value = number_in(steps, side + what);
      return number_cell(ms_amount(value), value);
    };
    const auto count = [](const MaybeNumber& number) { return number_cell(count_amount(number), number); };
    const auto wall_s = number_in(run, "wall_s"), ranks = number_in(run, "ranks");
    table.row({text_cell(side == "a" ? "A" : "B"), name_cell(text_in(run, "path")),
               count(ranks == 0.0 ? MaybeNumber() : ranks), count(number_in(run, "processes")),
               text_cell(text_in(run, "mode")), number_cell(ms_amount(1e3 * wall_s.value_or(0)), wall_s),
               count(number_in(steps, side + "_count")), ms("_min_ms"), ms("_median_ms"), ms("_max_ms")});
  }
  table.write(page, "");
}

// What it took in A above what it takes in B.
std::string pair_of_bars(const MaybeNumber& a, const MaybeNumber& b, double widest) {
  return stacked_bar({{"side-a", a.value_or(0), "A"}}, widest, "A") +
         stacked_bar({{"side-b", b.value_or(0), "B"}}, widest, "B");
}

void add_finding_changes(const JsonValue& document, Markup& page) {
  page.open("section", {{"id", "findings"}}).element("h2", "Causes that are gone, grew, shrank or are new");
  const auto& findings = list_in(document, "findings");
  const bool in_ms = std::any_of(findings.begin(), findings.end(), [](const JsonValue& one) {
    return number_in(one, "a_ms_per_step") || number_in(one, "b_ms_per_step");
  });
  const auto words = in_ms ? ms_amount : pct_amount;
  const std::string a_path = in_ms ? "a_ms_per_step" : "a_share_pct", b_path = in_ms ? "b_ms_per_step" : "b_share_pct";
  double widest = 0;
  for (const JsonValue& one : findings)
    widest = std::max({widest, number_in(one, a_path).value_or(0), number_in(one, b_path).value_or(0)});
  Table table(in_ms ? "Causes, of a step" : "Causes, of the run", {{.title = "Cause"},
                                                                   {.title = "On", .is_number = false},
                                                                   {.title = "Change", .is_number = false},
                                                                   {.title = "A above B", .is_number = false},
                                                                   {.title = "In A"},
                                                                   {.title = "In B"}});
  for (const JsonValue& one : findings) {
    const auto a = number_in(one, a_path), b = number_in(one, b_path);
    const std::string change = text_in(one, "change");
    table.row({text_cell(spaced(text_in(one, "cause"))),
               {.text = who_in(one), .order = number_in(one, "rank")},
               text_cell(change),
               {.order = b.value_or(0) - a.value_or(0), .markup = pair_of_bars(a, b, widest)},
               number_cell(words(a), a),
               number_cell(words(b), b)},
              number_in(one, "rank"), change == "same" ? "same" : "changed");
  }
  table.write(page, "Neither run has a finding.");
  page.close();
}

void add_path(const JsonValue& document, Markup& page) {
  page.open("section", {{"id", "path"}}).element("h2", "Critical path");
  Table table("Classes of the critical path", {{.title = "Class"},
                                               {.title = "Share in A"},
                                               {.title = "Share in B"},
                                               {.title = "A step in A"},
                                               {.title = "A step in B"}});
  for (const auto& [name, one] : members_of(member(document, "critical_path_pct"))) {
    const auto cell = [&entry = one](const char* path, auto words) {
      const auto value = number_in(entry, path);
      return number_cell(words(value), value);
    };
    table.row({text_cell(spaced(name)), cell("a_pct", pct_amount), cell("b_pct", pct_amount),
               cell("a_ms_per_step", ms_amount), cell("b_ms_per_step", ms_amount)});
  }
  table.write(page, "It is not known in both runs.");
  page.close();
}

void add_change_row(const JsonValue& row, Table& table) {
  const auto us = [&row](const char* path) {
    const auto value = number_in(row, path);
    return number_cell(us_amount(value), value);
  };
  const auto change = number_in(row, "change_pct"), a = number_in(row, "a_count"), b = number_in(row, "b_count");
  const bool is_significant = flag_in(row, "significant");
  table.row({name_cell(text_in(row, "name")), number_cell(change_amount(change), change),
             text_cell(a == 0.0         ? "only in B"
                       : b == 0.0       ? "only in A"
                       : is_significant ? "beyond noise"
                                        : "noise"),
             us("a_avg_us"), us("b_avg_us"), us("a_p99_us"), us("b_p99_us"), number_cell(count_amount(a), a),
             number_cell(count_amount(b), b)},
            {}, is_significant ? "changed" : "");
}

std::vector<Column> change_columns() {
  return {{.title = "Name"},
          {.title = "Change", .hint = "Of the average"},
          {.title = "Is it", .is_number = false},
          {.title = "Average in A"},
          {.title = "In B"},
          {.title = "p99 in A"},
          {.title = "In B"},
          {.title = "Count in A"},
          {.title = "In B"}};
}

// What changed stands open; the rest is one click away.
void add_rows(const JsonValue& document, const char* path, const std::string& title, Markup& page) {
  constexpr std::size_t kMostRows = 200;
  std::vector<const JsonValue*> rows;
  if (!members_of(member(document, path)).empty()) rows.push_back(&member(document, path));  // one alone is no list
  for (const JsonValue& row : list_in(document, path)) rows.push_back(&row);
  if (rows.empty()) return;
  page.element("h3", title);
  Table changed(title + " that changed beyond noise", change_columns());
  Table others(title + " that did not, or are in one run alone", change_columns());
  for (std::size_t i = 0; i < std::min(rows.size(), kMostRows); ++i)
    add_change_row(*rows[i], flag_in(*rows[i], "significant") ? changed : others);
  changed.write(page, "None changed beyond noise.");
  if (others.empty()) return;
  page.open("details").element("summary", "The others");
  others.write(page, "");
  if (rows.size() > kMostRows) page.element("p", fmt::format("{} more are in the document.", rows.size() - kMostRows));
  page.close();
}

void add_details(const JsonValue& document, Markup& page) {
  page.open("section", {{"id", "details"}}).element("h2", "Kernels, collectives, waits");
  add_rows(document, "kernels", "Kernels on the GPU", page);
  add_rows(
      document, "collectives",
      text_in(document, "collective_source") == "gpu" ? "Collectives, on the GPU" : "Collectives, calls of the host",
      page);
  add_rows(document, "waits", "Waits", page);
  add_rows(document, "wakes", "From a wake to the return", page);
  add_rows(document, "launch_gaps", "Launches", page);
  add_rows(document, "progress", "NCCL's progress threads", page);
  add_rows(document, "delay_chain", "How a delay reaches other ranks", page);
  page.element("p", "What is in neither run has no table.", {{"class", "quiet"}}).close();
}

// Both on one scale.
void add_spreads(const JsonValue& document, Markup& page) {
  double to = 0;
  for (const char* path : {"a.steps.map.percentiles_ms.p95", "b.steps.map.percentiles_ms.p95"})
    to = std::max(to, 1.05 * number_in(document, path).value_or(0));
  Table table("How long steps were: the middle half, the middle nine tenths, the median",
              {{.title = "Run"},
               {.title = "Spread", .is_number = false},
               {.title = "p5"},
               {.title = "p25"},
               {.title = "Median"},
               {.title = "p75"},
               {.title = "p95"},
               {.title = "Longest"}});
  for (const std::string side : {"a", "b"}) {
    const JsonValue& spread = member(document, side + ".steps.map.percentiles_ms");
    if (spread.is_null()) continue;
    const auto at = [&spread](const char* percent) { return number_in(spread, percent).value_or(0); };
    std::vector<Cell> cells = {text_cell(side == "a" ? "A" : "B")};
    cells.push_back({.order = at("p50"),
                     .markup = box_bar({at("p5"), at("p25"), at("p50"), at("p75"), at("p95"), to}, "side-" + side,
                                       "steps between " + ms_amount(at("p5")) + " and " + ms_amount(at("p95")))});
    for (const char* percent : {"p5", "p25", "p50", "p75", "p95", "p100"})
      cells.push_back(number_cell(ms_amount(at(percent)), at(percent)));
    table.row(cells);
  }
  table.write(page, "");
}

void add_maps(const JsonValue& document, Markup& page) {
  page.open("section", {{"id", "steps"}}).element("h2", "Steps");
  add_spreads(document, page);
  for (const std::string side : {"a", "b"}) {
    page.element("h3", side == "a" ? "Ranks and steps of A" : "Ranks and steps of B");
    add_step_map(member(document, side + ".steps.map"), "map-" + side, page);
  }
  page.close();
}

}  // namespace

std::string diff_page(const JsonValue& document) {
  Markup page;
  begin_page(fmt::format("hostprobe diff {} {}", text_in(document, "a.path"), text_in(document, "b.path")),
             {{"top", "Change"},
              {"findings", "Causes"},
              {"steps", "Steps"},
              {"path", "Critical path"},
              {"details", "Details"}},
             page);
  page.open("header", {{"id", "top"}});
  page.open("p", {{"class", "what"}}).text("hostprobe diff ").name(text_in(document, "a.path"));
  page.text(" ").name(text_in(document, "b.path")).close();
  page.open("h1").element("span", change_word(document), {{"class", "word"}}).close();
  page.element("p", change_sentence(document), {{"class", "lead"}});
  add_change_bar(document, page);
  add_runs(document, page);
  page.close();
  add_finding_changes(document, page);
  add_maps(document, page);
  add_path(document, page);
  add_details(document, page);
  end_page(document, page);
  return page.take();
}

}  // namespace hostprobe::analysis
