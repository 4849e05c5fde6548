// json_steps.cpp: see json_steps.h.
#include "json_steps.h"

#include <algorithm>
#include <string>

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kSlowestSteps = 5;
constexpr std::size_t kStartUpWaits = 3;

void add_lengths(Json& json, const StepLengths& lengths) {
  const auto ms = [&lengths](double ns) { return lengths.count == 0 ? Json(nullptr) : Json(ns * 1e-6); };
  json["count"] = lengths.count;
  json["median_ms"] = ms(lengths.median_ns);
  json["p99_ms"] = ms(lengths.p99_ns);
  json["max_ms"] = ms(lengths.max_ns);
}

}  // namespace

Json steps_json(const StepAnswer& steps, const std::optional<double>& start_up_ms) {
  const std::string source = step_source_name(steps);
  Json json = {{"source", source}};
  if (source == "marks") json["marked_by"] = "program";
  if (source == "detected") json["detected_by"] = steps.by_optimizer ? "optimizer" : "calls";
  add_lengths(json, steps.lengths);
  if (steps.lengths.count > 0) json["median_ms"] = 1e-6 * steps.usual_ns();
  json["median_of"] = steps.all_have_types() ? Json(steps.types[steps.usual_type()].name) : Json(nullptr);
  json["start_up_ms"] = or_null(start_up_ms);
  json["types"] = Json::array();
  for (const StepTypeAnswer& type : steps.types) {
    Json one = {{"type", type.name}};
    add_lengths(one, type.lengths);
    json["types"].push_back(one);
  }
  json["slowest"] = Json::array();
  for (const SlowStep& slow : steps.slowest(kSlowestSteps)) {
    json["slowest"].push_back({{"number", slow.step.number},
                               {"type", steps.types[slow.step.type].name},
                               {"at_s", slow.step.begin_ns * 1e-9},
                               {"ms", slow.step.length_ns() * 1e-6},
                               {"excess_ms", slow.excess_ns * 1e-6}});
  }
  return json;
}

Json start_up_json(const StartUpAnswer& start_up) {
  Json json = {{"ms", start_up.ms}, {"waits", Json::array()}};
  for (std::size_t i = 0; i < std::min(kStartUpWaits, start_up.waits.size()); ++i) {
    const WaitSite& site = start_up.waits[i];
    Json one = {{"function", site.function}, {"library", site.library}, {"count", site.time.count()}};
    one["total_ms"] = 1e-6 * site.time.total_ns();
    if (!site.python.empty()) one["python"] = site.python.front().text;
    json["waits"].push_back(one);
  }
  return json;
}

}  // namespace hostprobe::analysis
