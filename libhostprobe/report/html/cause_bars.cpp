// cause_bars.cpp: see cause_bars.h.
#include "cause_bars.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "amount.h"
#include "cause_title.h"
#include "chart.h"
#include "chosen_ranks.h"
#include "member.h"
#include "table.h"

namespace hostprobe::analysis {
namespace {

constexpr double kLeastColumnPct = 0.5;  // of the steps: a cause with a column of its own

struct RankCauses {
  JsonValue who;                     // its rank and pid
  std::map<std::string, double> ms;  // a step, by cause
  double total() const {
    double all = 0;
    for (const auto& [cause, one] : ms) all += one;
    return all;
  }
  // What a reader looks for: neither the work that has to be done nor what nobody knows.
  double lost() const {
    double left = total();
    for (const char* cause : {"gpu_bound", "unknown"})
      if (const auto found = ms.find(cause); found != ms.end()) left -= found->second;
    return left;
  }
};

struct Causes {
  std::vector<RankCauses> ranks;
  RankCauses mean;
  std::vector<std::string> order;    // heaviest first
  std::vector<std::string> columns;  // of these, those with a column
  std::map<std::string, std::string> titles;
  const std::string& words(const std::string& cause) const { return titles.at(cause); }
};

Causes read_causes(const JsonValue& document) {
  Causes causes;
  std::map<std::string, std::size_t> place;
  std::map<std::string, double> pct;
  for (const JsonValue& lost : list_in(document, "step_time.lost")) {
    const std::string cause = text_in(lost, "cause");
    const double ms = number_in(lost, "ms_per_step").value_or(0);
    causes.mean.ms[cause] += ms;
    pct[cause] += number_in(lost, "share_pct").value_or(0);
    const auto [found, is_new] = place.emplace(who_in(lost), causes.ranks.size());
    if (is_new) causes.ranks.push_back({{{"rank", member(lost, "rank")}, {"pid", member(lost, "pid")}}, {}});
    causes.ranks[found->second].ms[cause] += ms;
  }
  for (const auto& [cause, share] : pct) {
    causes.order.push_back(cause);
    causes.titles.emplace(cause, cause_title_in(document, cause));
  }
  std::stable_sort(causes.order.begin(), causes.order.end(),
                   [&pct](const auto& a, const auto& b) { return pct[a] > pct[b]; });
  for (const std::string& cause : causes.order)
    if (pct[cause] >= kLeastColumnPct) causes.columns.push_back(cause);
  std::stable_sort(causes.ranks.begin(), causes.ranks.end(), [](const RankCauses& a, const RankCauses& b) {
    return number_in(a.who, "rank").value_or(-1) < number_in(b.who, "rank").value_or(-1);
  });
  return causes;
}

std::string bar_of(const Causes& causes, const RankCauses& one, double whole, const std::string& who) {
  std::vector<BarPart> parts;
  for (const std::string& cause : causes.order)
    if (const auto found = one.ms.find(cause); found != one.ms.end())
      parts.push_back({"cause-" + cause, found->second, causes.words(cause) + " " + ms_amount(found->second)});
  return stacked_bar(parts, whole, who + ": " + ms_amount(one.total()) + " a step");
}

void add_legend(const Causes& causes, double whole, Markup& page) {
  page.open("ul", {{"class", "legend"}});
  for (const std::string& cause : causes.columns)
    page.open("li")
        .empty("span", {{"class", "swatch cause-" + cause}})
        .markup("</span>")
        .text(fmt::format("{} {}", causes.words(cause), pct_amount(100 * causes.mean.ms.at(cause) / whole)))
        .close();
  page.close();
}

std::vector<Column> columns_of(const Causes& causes, bool with_bar) {
  std::vector<Column> columns = {{.title = "On"}};
  if (with_bar)
    columns.push_back({.title = "A step", .hint = "Causes in the colours of the list above", .is_number = false});
  columns.push_back({.title = "All", .hint = "Of the mean rank's step"});
  for (const std::string& cause : causes.columns) columns.push_back({.title = causes.words(cause)});
  return columns;
}

void add_row(const Causes& causes, const RankCauses& one, double whole, bool with_bar, Table& table) {
  const std::string who = who_in(one.who);
  std::vector<Cell> cells = {number_cell(who == "the job" ? "all ranks" : who, number_in(one.who, "rank"))};
  if (with_bar) cells.push_back({.order = one.total(), .markup = bar_of(causes, one, whole, who)});
  cells.push_back(number_cell(ms_amount(one.total()), one.total()));
  for (const std::string& cause : causes.columns) {
    const auto found = one.ms.find(cause);
    const double ms = found == one.ms.end() ? 0 : found->second;
    cells.push_back(ms == 0 ? number_cell("0", 0.0) : number_cell(ms_amount(ms), ms));
  }
  table.row(cells, number_in(one.who, "rank"));
}

// What made the slow steps slow. Outliers are cut, or nothing else could be seen.
void add_steps_by_cause(const JsonValue& document, const Causes& causes, Markup& page) {
  constexpr double kTallest = 4;
  const JsonValue& by_step = member(document, "step_time.by_step");
  if (by_step.is_null()) return;
  std::vector<Layer> layers;
  for (const std::string& cause : causes.order) {
    Layer layer = {.style = "cause-" + cause, .heights = {}};
    for (const JsonValue& ms : list_in(member(by_step, "ms"), cause))
      layer.heights.push_back(number_of(ms).value_or(0));
    layers.push_back(std::move(layer));
  }
  double longest = 0;
  for (std::size_t column = 0; !layers.empty() && column < layers.front().heights.size(); ++column) {
    double all = 0;
    for (const Layer& layer : layers) all += column < layer.heights.size() ? layer.heights[column] : 0;
    longest = std::max(longest, all);
  }
  const double most = std::min(longest, kTallest * causes.mean.total());
  const double per_column = number_in(by_step, "steps_per_column").value_or(1);
  const std::string label = fmt::format(
      "What each of the {} steps that were looked at went into, of the mean rank, up to {}{}{}",
      count_amount(number_in(by_step, "steps")), ms_amount(most), most < longest ? "; longer ones are cut" : "",
      per_column > 1 ? fmt::format("; each column is the mean of {:.0f} steps", per_column) : "");
  page.open("figure").element("figcaption", label).open("div", {{"class", "zoom"}});
  page.markup(layered_strip(layers, most, label)).close().close();
}

void add_others(const Causes& causes, const ChosenRanks& chosen, Markup& page) {
  if (chosen.all_shown()) return;
  page.open("details").element("summary", fmt::format("The {} other ranks", chosen.others.size()));
  Table table("Time lost on the other ranks, of the mean step", columns_of(causes, false));
  for (const std::size_t one : chosen.others) add_row(causes, causes.ranks[one], 1, false, table);
  table.write(page, "");
  page.close();
}

void add_bars(const JsonValue& document, const Causes& causes, Markup& page) {
  const double whole = causes.mean.total();
  page.element(
      "p",
      "The mean rank, and on which rank each cause sits. What others wait for is charged to the rank that is late, "
      "so the bars of the ranks add up to the mean step.");
  page.open("div", {{"class", "mean"}}).markup(bar_of(causes, causes.mean, whole, "the mean rank")).close();
  add_legend(causes, whole, page);
  add_steps_by_cause(document, causes, page);
  std::vector<double> badness;
  double widest = 0;
  for (const RankCauses& one : causes.ranks) {
    badness.push_back(one.lost());
    widest = std::max(widest, one.total());
  }
  const ChosenRanks chosen = choose_ranks(badness);
  Table table(chosen.all_shown()
                  ? "Time of the mean step by the rank where it went"
                  : "Time of the mean step by the rank where it went: the 16 worst ranks, the median one, the 8 best",
              columns_of(causes, true));
  for (const std::size_t one : chosen.shown) add_row(causes, causes.ranks[one], widest, true, table);
  table.write(page, "");
  add_others(causes, chosen, page);
}

}  // namespace

void add_cause_bars(const JsonValue& document, Markup& page) {
  page.open("section", {{"id", "time"}}).element("h2", "Where the time of the steps went");
  const Causes causes = read_causes(document);
  if (causes.ranks.empty() || causes.mean.total() <= 0) {
    const std::string why = text_in(document, "step_time_unknown");
    page.element("p", "It is not known" + (why.empty() ? "." : " (" + spaced(why) + ")."), {{"class", "nothing"}});
  } else {
    add_bars(document, causes, page);
  }
  page.close();
}

}  // namespace hostprobe::analysis
