// finding_cards.cpp: see finding_cards.h.
#include "finding_cards.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "amount.h"
#include "answer/telling_frames.h"
#include "cause_title.h"
#include "chart.h"
#include "member.h"
#include "report/shell_word.h"

namespace hostprobe::analysis {
namespace {

constexpr const char* kSwitchableFixes[] = {
#define HP_FIX(Name, name, ...) #name,
#include "hostprobe/fixes.def"
};

// What is never a fault, or not looked for.
constexpr const char* kNoFaults[] = {"gpu_bound", "slow_rank", "own_cost", "unknown", "unexplained"};
constexpr const char* kEachCause[] = {
#define HP_CAUSE(Name, id, ...) #id,
#include "hostprobe/causes.def"
};

std::vector<std::string> stack_of(const JsonValue& finding) {
  std::vector<std::string> stack;
  for (const JsonValue& frame : list_in(finding, "site.stack")) stack.push_back(text_of(frame));
  return stack;
}

// The line a person would open: as sentences have it, else who called.
std::string line_of(const JsonValue& finding) {
  if (std::string frame = telling_place(stack_of(finding)); !frame.empty()) return frame;
  for (const char* path : {"evidence.python", "evidence.code"})
    if (std::string code = text_in(finding, path); !code.empty()) return code;
  return "";
}

std::string call_of(const JsonValue& finding) {
  const std::string function = text_in(finding, "site.function"), library = text_in(finding, "site.library");
  if (function.empty()) return library;
  return library.empty() || library == "unknown" ? function : function + " of " + library;
}

void add_term(const char* term, const std::string& name, Markup& page) {
  if (!name.empty()) page.open("div").element("dt", term).open("dd").name(name).close().close();
}

void add_where(const JsonValue& document, const JsonValue& finding, Markup& page) {
  const JsonValue* process = process_in(document, finding);
  std::string who = who_in(finding);
  if (process != nullptr)
    if (const std::string host = text_in(*process, "host"); !host.empty()) who += " on " + host;
  page.open("dl", {{"class", "where"}});
  add_term("Who", who, page);
  const std::string thread = text_in(finding, "thread");
  add_term("Thread", thread.empty() ? spaced(text_in(finding, "site.role")) : thread, page);
  add_term("Line", line_of(finding), page);
  add_term("Call", call_of(finding), page);
  std::string holder = text_in(finding, "evidence.held_by_name");
  if (const auto tid = number_in(finding, "evidence.held_by_tid"); tid.value_or(0) > 0)
    holder += fmt::format("{}thread {:.0f}", holder.empty() ? "" : ", ", *tid);
  add_term("Held by", holder, page);
  page.close();
}

void add_gain(const JsonValue& finding, Markup& page) {
  const auto gain = number_in(finding, "gain_pct"), low = number_in(finding, "gain_low_pct"),
             high = number_in(finding, "gain_high_pct");
  page.open("p", {{"class", "gain"}});
  if (!gain) {
    page.text("What would be gained is not known.").close();
    return;
  }
  const std::string words = "Steps would be " + gain_amount(gain, low, high) + " shorter";
  page.markup(range_bar({.value = *gain, .low = low, .high = high}, words));
  page.element("span", words).close();
}

bool is_switchable(const std::string& name) {
  return std::find(std::begin(kSwitchableFixes), std::end(kSwitchableFixes), name) != std::end(kSwitchableFixes);
}

void add_command(const std::string& what, const std::string& command, Markup& page) {
  page.open("p", {{"class", "command"}}).text(what + " ").element("code", command).close();
}

void add_advice(const JsonValue& document, const JsonValue& finding, Markup& page) {
  if (const std::string how = text_in(finding, "fix.how"); !how.empty())
    page.open("p", {{"class", "advice"}}).element("strong", "Do: ").text(how).close();
  const std::string name = text_in(finding, "fix.name"), run = shell_word(text_in(document, "run.path"));
  if (is_switchable(name)) {
    add_command("Try it while the job runs:", fmt::format("hostprobe ctl {} fix on {}", run, name), page);
    add_command("With a proof, in windows with and without:",
                fmt::format("hostprobe run --fix auto:{} -- PROGRAM", name), page);
  }
  add_command("Prove a change:", fmt::format("hostprobe diff {} RUN-AFTER", run), page);
  if (const auto rank = number_in(finding, "rank"))
    add_command("More of it:", fmt::format("hostprobe report {} --rank {:.0f}", run, *rank), page);
}

std::string evidence_text(const std::string& name, const JsonValue& value) {
  const auto ends = [&name](const char* unit) { return name.ends_with(unit); };
  const auto number = number_of(value);
  if (!number) return text_of(value);
  if (ends("_ms")) return ms_amount(number);
  if (ends("_us")) return us_amount(number);
  if (ends("_pct")) return pct_amount(number);
  if (name == "bytes") return bytes_amount(number);
  if (ends("tid") || ends("rank")) return fmt::format("{:.0f}", *number);
  return *number == std::floor(*number) ? count_amount(number) : plain_amount(number);
}

void add_evidence(const JsonValue& finding, Markup& page) {
  page.open("details").element("summary", "Evidence").open("dl", {{"class", "evidence"}});
  for (const auto& [name, value] : members_of(member(finding, "evidence")))
    add_term(spaced(name).c_str(), evidence_text(name, value), page);
  page.close();
  const std::vector<std::string> stack = stack_of(finding);
  if (!stack.empty()) {
    page.element("p", "Heaviest stack that was sampled, innermost first:").open("ol", {{"class", "stack"}});
    for (const std::string& frame : stack) page.open("li").name(frame).close();
    page.close();
  }
  page.close();
}

// Stays the same when the run is reported again, as long as the finding does.
std::string anchor_of(const JsonValue& finding, std::set<std::string>& taken) {
  std::string anchor = text_in(finding, "cause");
  if (const auto rank = number_in(finding, "rank")) anchor += fmt::format("-rank{:.0f}", *rank);
  const std::string first = anchor;
  for (int again = 2; !taken.insert(anchor).second; ++again) anchor = fmt::format("{}-{}", first, again);
  return anchor;
}

void add_card(const JsonValue& document, const JsonValue& finding, const std::string& anchor, Markup& page) {
  const auto rank = number_in(finding, "rank");
  page.open("article", {{"class", "card"}, {"id", anchor}, {"data-rank", rank ? fmt::format("{:.0f}", *rank) : ""}});
  page.open("h3").empty("span", {{"class", "swatch cause-" + text_in(finding, "cause")}}).markup("</span>");
  page.element("a", cause_title_in(document, text_in(finding, "cause")), {{"href", "#" + anchor}});
  std::string cost = pct_amount(number_in(finding, "share_pct")) + " of the " + text_in(finding, "share_of");
  if (const auto ms = number_in(finding, "ms_per_step")) cost = ms_amount(ms) + " a step, " + cost;
  page.text(" ").element("span", who_in(finding) + " · " + cost, {{"class", "cost"}}).close();
  page.element("p", text_in(finding, "text"), {{"class", "sentence"}});
  add_gain(finding, page);
  add_where(document, finding, page);
  add_advice(document, finding, page);
  add_evidence(finding, page);
  page.close();
}

void add_not_found(const JsonValue& document, Markup& page) {
  if (members_of(member(document, "step_share_pct")).empty()) return;
  std::set<std::string> found(std::begin(kNoFaults), std::end(kNoFaults));
  for (const JsonValue& finding : list_in(document, "findings")) found.insert(text_in(finding, "cause"));
  std::vector<std::pair<double, std::string>> others;
  for (const char* cause : kEachCause)
    if (!found.count(cause))
      others.emplace_back(-number_in(member(document, "step_share_pct"), cause).value_or(0),
                          cause_title_in(document, cause));
  std::stable_sort(others.begin(), others.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  page.open("div", {{"class", "quiet"}, {"id", "not-found"}}).element("h3", "Looked for, and no finding").open("ul");
  for (const auto& [share, title] : others) page.element("li", share == 0 ? title : title + " " + pct_amount(-share));
  page.close().close();
}

}  // namespace

void add_findings(const JsonValue& document, Markup& page) {
  page.open("section", {{"id", "findings"}}).element("h2", "What to do");
  std::set<std::string> taken = {"findings"};
  for (const JsonValue& finding : list_in(document, "findings"))
    add_card(document, finding, anchor_of(finding, taken), page);
  if (list_in(document, "findings").empty())
    page.element("p", "No cause takes enough of the time to be a finding.", {{"class", "nothing"}});
  add_not_found(document, page);
  page.close();
}

}  // namespace hostprobe::analysis
