// head_section.cpp: see head_section.h.
#include "head_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "amount.h"
#include "member.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostSaid = 12;  // of losses; the document has all

std::string capitals(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char one) { return std::toupper(one); });
  return text;
}

// A document without a verdict is headed by its heaviest finding.
void add_verdict(const JsonValue& document, Markup& page) {
  const JsonValue& verdict = member(document, "verdict");
  const auto& findings = list_in(document, "findings");
  std::string word = text_in(verdict, "word"), severity = text_in(verdict, "severity");
  if (word.empty() && !findings.empty()) word = spaced(text_in(findings[0], "cause"));
  if (word.empty())
    word = list_in(document, "processes").empty() ? "nothing could be read" : "nothing stands out on the host side";
  page.open("h1").element("span", capitals(word), {{"class", "word"}});
  if (!severity.empty() && severity != "none")
    page.text(" ").element("span", severity, {{"class", "severity " + severity}});
  if (severity.empty() && !findings.empty())
    page.text(" ").element(
        "span",
        fmt::format("{} of the {}", pct_amount(number_in(findings[0], "share_pct")), text_in(findings[0], "share_of")),
        {{"class", "severity"}});
  page.close();
  if (const std::string why = text_in(verdict, "why"); !why.empty()) page.element("p", why, {{"class", "lead"}});
}

// Sentences of the headline that neither the verdict nor a card repeats: deaths, restarts, long waits, or that nothing stands out.
void add_news(const JsonValue& document, Markup& page) {
  std::set<std::string> carded = {text_in(document, "verdict.why")};
  for (const JsonValue& finding : list_in(document, "findings")) carded.insert(text_in(finding, "text"));
  std::vector<std::string> news;
  for (const JsonValue& stuck : list_in(document, "stuck")) news.push_back(text_in(stuck, "text"));
  for (const JsonValue& sentence : list_in(document, "headline"))
    if (!carded.count(text_of(sentence))) news.push_back(text_of(sentence));
  for (const std::string& sentence : news)
    if (!sentence.empty()) page.element("p", sentence, {{"class", "lead"}}).markup("\n");
}

void add_fact(const char* name, const std::string& fact, Markup& page) {
  if (!fact.empty()) page.open("div").element("dt", name).element("dd", fact).close();
}

std::string counted(std::size_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count_amount(static_cast<double>(count)), count == 1 ? one : many);
}

// A profile of a process that was traced as well is no further one.
bool is_profile_of_another(const JsonValue& process, const JsonValue& document) {
  if (member(process, "imported").is_null()) return false;
  const auto& all = list_in(document, "processes");
  return std::any_of(all.begin(), all.end(), [&process](const JsonValue& one) {
    return member(one, "imported").is_null() && number_in(one, "pid") == number_in(process, "pid") &&
           text_in(one, "host") == text_in(process, "host");
  });
}

std::string seen_text(const JsonValue& document) {
  std::set<double> ranks;
  std::size_t others = 0;
  for (const JsonValue& process : list_in(document, "processes")) {
    if (const auto rank = number_in(process, "rank"); rank && text_in(process, "kind") == "rank") ranks.insert(*rank);
    others += text_in(process, "kind") != "rank" && !is_profile_of_another(process, document);
  }
  const auto expected = static_cast<std::size_t>(number_in(document, "run.ranks").value_or(0));
  std::string text;
  if (expected > 0)
    text = ranks.size() == expected ? counted(expected, "rank", "ranks")
                                    : fmt::format("{} of {}", ranks.size(), counted(expected, "rank", "ranks"));
  if (others > 0)
    text += (text.empty() ? "" : ", ") + (expected > 0 ? counted(others, "other process", "other processes")
                                                       : counted(others, "process", "processes"));
  if (text.empty()) text = "no process";
  const std::size_t hosts = list_in(document, "run.hosts").size();
  return hosts == 0 ? text : text + " on " + counted(hosts, "host", "hosts");
}

std::string when_text(const JsonValue& document) {
  std::string text = ms_amount(1e3 * number_in(document, "run.wall_s").value_or(0));
  if (const std::string started = text_in(document, "run.started"); !started.empty()) text += ", started " + started;
  const std::string mode = text_in(document, "run.mode");
  return mode.empty() ? text : text + ", mode " + mode;
}

std::string steps_text(const JsonValue& document) {
  const JsonValue& steps = member(document, "steps");
  if (number_in(steps, "count").value_or(0) == 0) return "none were seen";
  const std::string source = text_in(steps, "source") == "detected" ? " (detected)" : "";
  return fmt::format("{}{} · median {} · p99 {} · longest {}", count_amount(number_in(steps, "count")), source,
                     ms_amount(number_in(steps, "median_ms")), ms_amount(number_in(steps, "p99_ms")),
                     ms_amount(number_in(steps, "max_ms")));
}

std::string explained_text(const JsonValue& document) {
  if (const auto steps = number_in(document, "step_time.steps"))
    return fmt::format("the time of {} steps, {} of it unexplained", count_amount(steps),
                       pct_amount(number_in(document, "step_share_pct.unexplained").value_or(0)));
  const std::string why = text_in(document, "step_time_unknown");
  return why.empty() ? ""
                     : "not known where the time of the steps went (" + spaced(why) + "); findings are from totals";
}

std::string gpu_text(const JsonValue& document) {
  std::set<std::string> sources;
  for (const JsonValue& process : list_in(document, "processes"))
    if (const std::string source = text_in(process, "gpu.source"); !source.empty()) sources.insert(source);
  if (sources.empty()) return "none was used, or none was seen";
  std::string text;
  for (const std::string& source : sources) text += (text.empty() ? "its time is known by " : ", ") + source;
  return text;
}

std::string lost_text(const JsonValue& document) {
  double lost = 0, records = 0;
  for (const JsonValue& process : list_in(document, "processes")) {
    lost += number_in(process, "lost").value_or(0);
    records += number_in(process, "records").value_or(0);
  }
  const std::size_t unreadable = list_in(document, "unreadable").size();
  return fmt::format("{} of {} records{}", count_amount(lost), count_amount(records + lost),
                     unreadable == 0 ? "" : ", " + counted(unreadable, "part of a file", "parts of files"));
}

std::string own_cost_text(const JsonValue& document) {
  MaybeNumber of_steps, of_life;
  for (const JsonValue& process : list_in(document, "processes")) {
    if (const auto pct = number_in(process, "own_cost.steps_pct")) of_steps = std::max(of_steps.value_or(0), *pct);
    if (const auto pct = number_in(process, "own_cost_pct")) of_life = std::max(of_life.value_or(0), *pct);
  }
  if (of_steps) return pct_amount(of_steps) + " of the steps";
  return of_life ? pct_amount(of_life) + " of the wall time" : "";
}

void add_losses(const JsonValue& document, Markup& page) {
  std::vector<std::string> said;
  for (const JsonValue& file : list_in(document, "unreadable"))
    said.push_back(fmt::format("{} cannot be read at offset {}: {}", text_in(file, "path"),
                               count_amount(number_in(file, "offset")), text_in(file, "what")));
  for (const JsonValue& process : list_in(document, "processes")) {
    if (const auto lost = number_in(process, "lost"); lost.value_or(0) > 0)
      said.push_back(fmt::format("{} lost {} records", who_in(process), count_amount(lost)));
    if (flag_in(process, "lost_tail_unknown"))
      said.push_back(who_in(process) + " lost its last records, how many is not known");
    if (flag_in(process, "imported.in_part")) said.push_back(who_in(process) + ": its profile was read in part");
    for (const JsonValue& damage : list_in(process, "damages"))
      said.push_back(fmt::format("{}: {} bytes at offset {} are damaged", who_in(process),
                                 count_amount(number_in(damage, "bytes")), count_amount(number_in(damage, "offset"))));
  }
  if (said.empty()) return;
  page.open("section", {{"id", "losses"}, {"class", "losses"}}).element("h2", "Lost or damaged").open("ul");
  for (std::size_t i = 0; i < std::min(said.size(), kMostSaid); ++i) page.element("li", said[i]);
  if (said.size() > kMostSaid) page.element("li", fmt::format("and {} more", said.size() - kMostSaid));
  page.close().close();
}

}  // namespace

void add_head(const JsonValue& document, Markup& page) {
  page.open("header", {{"id", "top"}});
  page.open("p", {{"class", "what"}}).text("hostprobe report ").name(text_in(document, "run.path")).close();
  add_verdict(document, page);
  add_news(document, page);
  page.open("dl", {{"class", "facts"}});
  add_fact("Seen", seen_text(document), page);
  add_fact("Run", when_text(document), page);
  add_fact("Steps", steps_text(document), page);
  add_fact("Explained", explained_text(document), page);
  add_fact("GPU", gpu_text(document), page);
  add_fact("Lost", lost_text(document), page);
  add_fact("Own cost", own_cost_text(document), page);
  page.close().close();
  add_losses(document, page);
}

}  // namespace hostprobe::analysis
