// json_steps.cpp: see json_steps.h.
#include "json_steps.h"

#include <algorithm>
#include <map>
#include <string>

#include "json_step_lanes.h"
#include "json_step_map.h"

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

Json site_json(const LostSite& site) {
  Json json = {{"function", site.function}, {"library", site.library}, {"role", role_name(site.role)}};
  if (!site.code.empty()) json["code"] = site.code;
  if (!site.holder.empty())
    json["holder"] = {{"role", site.holder}, {"tid", site.holder_tid}, {"name", site.holder_title}};
  if (!site.stack.empty()) json["stack"] = site.stack;
  if (site.transfer.us > 0)
    json["transfer"] = {
        {"bytes", site.transfer.bytes},
        {"p50_us", site.transfer.us},
        {"bus_gb_s", site.transfer.bus_gb_s},
        {"usual_bus_gb_s", site.transfer.usual_bus_gb_s > 0 ? Json(site.transfer.usual_bus_gb_s) : Json(nullptr)},
        {"pcie_bus_gb_s", site.transfer.pcie_bus_gb_s > 0 ? Json(site.transfer.pcie_bus_gb_s) : Json(nullptr)}};
  if (site.samples > 0)
    json["samples"] = {
        {"count", site.samples}, {"pct", site.sampled_pct}, {"low_pct", site.low_pct}, {"high_pct", site.high_pct}};
  return json;
}

Json lost_json(const RunAnswer& run, const LostTime& lost) {
  const ProcessAnswer* process = lost.of_all ? nullptr : run.step_member(lost.member);
  Json longest = Json::array();
  for (const LostPiece& piece : lost.longest)
    longest.push_back({{"at_ms", piece.at_ms}, {"ms", piece.ms}, {"tid", piece.tid}});
  return {{"cause", cause_id(lost.cause)},
          {"rank", process == nullptr ? Json(nullptr) : or_null(process->rank)},
          {"pid", process == nullptr ? Json(nullptr) : Json(process->pid)},
          {"share_pct", 100 * lost.ns / run.step_time->length_ns},
          {"ms_per_step", 1e-6 * lost.ns / static_cast<double>(run.step_time->steps)},
          {"pieces", lost.pieces},
          {"site", site_json(lost.site)},
          {"site_pct", lost.ns > 0 ? Json(100 * lost.site_ns / lost.ns) : Json(nullptr)},
          {"longest", longest}};
}

}  // namespace

Json steps_json(const RunAnswer& run) {
  const StepAnswer& steps = run.steps;
  const std::string source = step_source_name(steps);
  Json json = {{"source", source}};
  if (source == "marks") json["marked_by"] = "program";
  if (source == "detected") json["detected_by"] = steps.by_optimizer ? "optimizer" : "calls";
  add_lengths(json, steps.lengths);
  if (steps.lengths.count > 0) json["median_ms"] = 1e-6 * steps.usual_ns();
  json["median_of"] = steps.all_have_types() ? Json(steps.types[steps.usual_type()].name) : Json(nullptr);
  json["start_up_ms"] = or_null(run.start_up_ms);
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
  json["map"] = step_map_json(run);
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

Json step_shares_json(const RunAnswer& run) {
  if (!run.step_time || run.step_time->length_ns <= 0) return nullptr;
  std::map<std::string, double> pct;
  for (const LostTime& lost : run.step_time->lost)
    pct[cause_id(lost.cause)] += 100 * lost.ns / run.step_time->length_ns;
  for (auto& [cause, share] : pct) share = std::min(share, 100.0);  // a sum of parts may end above it by a rounding
  return pct;
}

Json step_time_json(const RunAnswer& run) {
  if (!run.step_time || run.step_time->length_ns <= 0) return nullptr;
  Json json = {{"ms", 1e-6 * run.step_time->length_ns}, {"steps", run.step_time->steps}, {"lost", Json::array()}};
  for (const LostTime& lost : run.step_time->lost) json["lost"].push_back(lost_json(run, lost));
  json["by_step"] = causes_by_step_json(*run.step_time);
  json["worst_step"] = step_lanes_json(run);
  return json;
}

}  // namespace hostprobe::analysis
