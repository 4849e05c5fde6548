// lane_section.cpp: see lane_section.h.
#include "lane_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "amount.h"
#include "cause_title.h"
#include "chart.h"
#include "member.h"
#include "table.h"

namespace hostprobe::analysis {
namespace {

std::string lane_title(const JsonValue& lane) {
  const std::string kind = text_in(lane, "kind");
  if (kind == "causes") return who_in(lane);
  if (kind == "gpu") return "GPU";
  return text_in(lane, "thread");
}

// A call that nobody waited for is no cause: it has the colour of waiting.
std::string style_of(const JsonValue& span) {
  const std::string cause = text_in(span, "cause"), kind = text_in(span, "kind");
  if (!cause.empty()) return "cause-" + cause;
  if (kind == "unknown") return "unseen";
  if (kind == "communication") return "transfer";
  return kind.empty() ? "waiting" : "cause-gpu_bound";
}

std::string words_of(const JsonValue& document, const JsonValue& span) {
  const std::string function = text_in(span, "function"), cause = text_in(span, "cause"), kind = text_in(span, "kind");
  std::string words = function.empty() ? kind : function;
  if (kind == "unknown") words = "busy or not, nobody knows";
  if (!cause.empty()) words += (words.empty() ? "" : ": ") + cause_title_in(document, cause);
  return fmt::format("{}, {} at {}", words, ms_amount(number_in(span, "ms")), ms_amount(number_in(span, "at_ms")));
}

// Of a lane; a document may say anything.
std::size_t place_in(const JsonValue& of, const char* name) {
  return static_cast<std::size_t>(std::clamp(number_in(of, name).value_or(0), 0.0, 1e6));
}

LaneDrawing drawing_of(const JsonValue& document, const JsonValue& step) {
  LaneDrawing drawing;
  drawing.to = number_in(step, "ms").value_or(0);
  for (const JsonValue& lane : list_in(step, "lanes")) {
    LaneDrawing::Lane one = {.title = lane_title(lane), .is_head = text_in(lane, "kind") == "causes", .spans = {}};
    for (const JsonValue& span : list_in(lane, "spans"))
      one.spans.push_back({number_in(span, "at_ms").value_or(0), number_in(span, "ms").value_or(0), style_of(span),
                           words_of(document, span)});
    drawing.lanes.push_back(std::move(one));
  }
  for (const JsonValue& wake : list_in(step, "wakes"))
    drawing.arrows.push_back({place_in(wake, "from"), place_in(wake, "to"), number_in(wake, "at_ms").value_or(0)});
  return drawing;
}

void add_legend(const JsonValue& document, const JsonValue& step, Markup& page) {
  std::set<std::string> causes, works;
  for (const JsonValue& lane : list_in(step, "lanes"))
    for (const JsonValue& span : list_in(lane, "spans")) {
      if (const std::string cause = text_in(span, "cause"); !cause.empty()) causes.insert(cause);
      if (const std::string kind = text_in(span, "kind"); !kind.empty()) works.insert(kind);
    }
  const auto add = [&page](const std::string& style, const std::string& words) {
    page.open("li").empty("span", {{"class", "swatch " + style}}).markup("</span>").text(words).close();
  };
  page.open("ul", {{"class", "legend"}});
  for (const std::string& cause : causes) add("cause-" + cause, cause_title_in(document, cause));
  add("waiting", "in a call, with no part in the step's length");
  if (works.count("communication") > 0) add("transfer", "GPU: communication");
  if (works.count("unknown") > 0) add("unseen", "GPU: busy or not is not known");
  page.close();
}

// For who cannot see the drawing, and for who wants to search in it.
void add_table(const JsonValue& document, const JsonValue& step, Markup& page) {
  page.open("details").element("summary", "The worst step as a table");
  Table table("What each lane shows", {{.title = "Rank"},
                                       {.title = "Lane", .is_number = false},
                                       {.title = "Begins"},
                                       {.title = "Takes"},
                                       {.title = "In", .is_number = false},
                                       {.title = "Cause", .is_number = false}});
  for (const JsonValue& lane : list_in(step, "lanes"))
    for (const JsonValue& span : list_in(lane, "spans")) {
      const auto at = number_in(span, "at_ms"), ms = number_in(span, "ms");
      const std::string function = text_in(span, "function"), cause = text_in(span, "cause");
      table.row({text_cell(who_in(lane)), name_cell(text_in(lane, "kind") == "causes" ? "causes" : lane_title(lane)),
                 number_cell(ms_amount(at), at), number_cell(ms_amount(ms), ms),
                 name_cell(function.empty() ? text_in(span, "kind") : function),
                 text_cell(cause.empty() ? "" : cause_title_in(document, cause))},
                number_in(lane, "rank"));
    }
  table.write(page, "");
  page.close();
}

}  // namespace

void add_worst_step(const JsonValue& document, Markup& page) {
  page.open("section", {{"id", "worst"}}).element("h2", "The worst step");
  const JsonValue& step = member(document, "step_time.worst_step");
  const LaneDrawing drawing = drawing_of(document, step);
  if (drawing.lanes.empty() || drawing.to <= 0) {
    page.element("p", "It is not known what the threads did in any step.", {{"class", "nothing"}}).close();
    return;
  }
  const double left_out = number_in(step, "ranks_left_out").value_or(0);
  const std::string type = spaced(text_in(step, "type"));
  const std::string label = fmt::format(
      "Step {}{}, {}: for each rank where its time went, then its threads in the calls they were in{}. Where a "
      "thread has no bar it was in no call. Arrows go from the thread that let another one go on. Pieces below {} are "
      "not shown.",
      count_amount(number_in(step, "number")), type.empty() ? "" : " (" + type + ")", ms_amount(drawing.to),
      left_out > 0 ? fmt::format("; {} ranks that lost less are left out", count_amount(left_out)) : "",
      ms_amount(number_in(step, "least_ms")));
  page.open("figure").element("figcaption", label).open("div", {{"class", "zoom"}});
  page.markup(lane_drawing(drawing, label)).close();
  add_legend(document, step, page);
  page.close();
  add_table(document, step, page);
  page.close();
}

}  // namespace hostprobe::analysis
