// explanation.cpp: see explanation.h.
#include "explanation.h"

#include <fmt/format.h>

#include "page_text.h"
#include "report/finding_text.h"
#include "report/json/json_findings.h"
#include "report/json/json_run.h"
#include "report/json/json_steps.h"
#include "report/json_text.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kFrames = 8;
constexpr std::size_t kCauseWidth = 18;

Json findings_of(const std::string& cause, const RunAnswer& run) {
  Json list = Json::array();
  const Json all = findings_json(run);  // outlives the loop over its elements
  for (const Json& finding : all.elements())
    if (std::get<std::string>(finding.at("cause").content()) == cause) list.push_back(finding);
  return list;
}

// Rows of where the time of the steps went.
Json moments_of(const std::string& cause, const RunAnswer& run) {
  Json list = Json::array();
  const Json steps = step_time_json(run);
  const Json* lost = steps.find("lost");
  if (lost == nullptr) return list;
  for (const Json& one : lost->elements())
    if (std::get<std::string>(one.at("cause").content()) == cause) list.push_back(one);
  return list;
}

Json share_of(const std::string& cause, const RunAnswer& run) {
  const Json shares = step_shares_json(run);
  const Json* share = shares.find(cause);
  return share != nullptr ? *share : shares.is_null() ? Json(nullptr) : Json(0.0);
}

double least_of(const std::string& cause) {
  for (std::size_t i = 0; i < kCauses; ++i)
    if (cause == cause_id(static_cast<Cause>(i))) return least_share_pct(reported_cause(static_cast<Cause>(i)));
  return 0;
}

std::string value_text(const Json& value) {
  const auto* text = std::get_if<std::string>(&value.content());
  const auto* real = std::get_if<double>(&value.content());
  return text != nullptr   ? printable(*text)
         : real != nullptr ? fmt::format("{:.6g}", *real)
                           : json_text(value, kOneLine);
}

std::string evidence_text(const Json& finding) {
  std::string text;
  for (const auto& [name, value] : std::get<Json::Object>(finding.at("evidence").content()))
    text += fmt::format("      {:<20} {}\n", name, value_text(value));
  return text;
}

std::string stack_text(const Json& finding) {
  const Json* site = finding.find("site");
  const Json* stack = site == nullptr ? nullptr : site->find("stack");
  if (stack == nullptr || stack->size() == 0) return "";
  std::string text = "    stack, the innermost frame first\n";
  for (std::size_t i = 0; i < std::min(stack->size(), kFrames); ++i)
    text += fmt::format("      {}\n", value_text(stack->at(i)));
  return text;
}

std::string moments_text(const Json& moments) {
  std::string text;
  for (const Json& row : moments.elements())
    for (const Json& one : row.at("longest").elements())
      text += fmt::format("    {} at {:.3f} ms, thread {}{}\n", duration_text(1e6 * one.at("ms").real()),
                          one.at("at_ms").real(), value_text(one.at("tid")),
                          row.at("rank").is_null() ? "" : fmt::format(" of rank {}", value_text(row.at("rank"))));
  return text.empty() ? text : "  its longest moments, since the trace of that process began\n" + text;
}

std::string run_text(const std::string& cause, const RunAnswer& run) {
  std::string text = fmt::format("\nIn {}\n", printable(run.path));
  const Json findings = findings_of(cause, run), share = share_of(cause, run);
  if (!share.is_null()) text += fmt::format("  {:.1f} % of the time of the steps\n", share.real());
  for (const Json& finding : findings.elements())
    text += fmt::format("  {}\n    evidence\n{}{}", value_text(finding.at("text")), evidence_text(finding),
                        stack_text(finding));
  if (findings.size() == 0)
    text +=
        least_of(cause) > 0
            ? fmt::format("  It is no finding of this run; it is one from {:g} % of the steps on.\n", least_of(cause))
            : std::string("  It is no finding of this run.\n");
  return text + moments_text(moments_of(cause, run));
}

}  // namespace

std::string explanation_text(const EmbeddedText& page, const RunAnswer* run) {
  return page_text(page.text) + (run == nullptr ? "" : run_text(page.name, *run));
}

JsonValue explanation_document(const EmbeddedText& page, const RunAnswer* run) {
  Json json = {{"schema", 1}, {"hostprobe", hostprobe_json()}, {"cause", page.name}, {"page", page.text}};
  const double least = least_of(page.name);
  json["least_share_pct"] = least > 0 ? Json(least) : Json(nullptr);
  if (run == nullptr) return json;
  json["run"] = run->path;
  json["step_share_pct"] = share_of(page.name, *run);
  json["findings"] = findings_of(page.name, *run);
  json["step_time"] = moments_of(page.name, *run);
  return json;
}

std::string causes_text() {
  std::string text;
  for (const EmbeddedText& page : cause_pages())
    text += fmt::format("{:<{}} {}\n", page.name, kCauseWidth, first_sentence(page.text));
  return text;
}

}  // namespace hostprobe::analysis
