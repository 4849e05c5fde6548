// diff_json.cpp: see diff_json.h.
#include "diff_json.h"

#include "report/json/json_run.h"
#include "report/json/json_step_map.h"
#include "report/json_numbers.h"
#include "report/json_text.h"

namespace hostprobe::analysis {
namespace {

Json steps_json(const StepChange& steps) {
  return {{"a_count", steps.a_count},
          {"b_count", steps.b_count},
          {"a_median_ms", or_null(steps.a_median_ms)},
          {"b_median_ms", or_null(steps.b_median_ms)},
          {"change_pct", or_null(steps.change_pct)},
          {"significant", steps.significant},
          {"change_low_pct", or_null(steps.low_pct)},
          {"change_high_pct", or_null(steps.high_pct)},
          {"noise_pct", steps.low_pct ? Json(steps.noise_pct) : Json(nullptr)},
          {"a_min_ms", or_null(steps.a_min_ms)},
          {"a_max_ms", or_null(steps.a_max_ms)},
          {"b_min_ms", or_null(steps.b_min_ms)},
          {"b_max_ms", or_null(steps.b_max_ms)}};
}

Json finding_json(const FindingChange& finding) {
  return {{"cause", cause_id(finding.cause)},
          {"rank", or_null(finding.rank)},
          {"a_ms_per_step", or_null(finding.a_ms_per_step)},
          {"b_ms_per_step", or_null(finding.b_ms_per_step)},
          {"a_share_pct", or_null(finding.a_share_pct)},
          {"b_share_pct", or_null(finding.b_share_pct)},
          {"change", change_name(finding.change)}};
}

void add_side(Json& json, const std::string& prefix, const DiffSide& side) {
  json[prefix + "count"] = side.count;
  json[prefix + "avg_us"] = or_null(side.avg_us);
  json[prefix + "median_us"] = or_null(side.median_us);
  json[prefix + "min_us"] = or_null(side.min_us);
  json[prefix + "max_us"] = or_null(side.max_us);
  json[prefix + "p99_us"] = or_null(side.p99_us);
  json[prefix + "share_pct"] = or_null(side.share_pct);
}

Json rows_json(const std::vector<DiffRow>& rows) {
  Json list = Json::array();
  for (const DiffRow& row : rows) {
    Json json = {{"name", row.name}};
    add_side(json, "a_", row.a);
    add_side(json, "b_", row.b);
    json["change_pct"] = or_null(row.change_pct);
    json["significant"] = row.significant;
    list.push_back(std::move(json));
  }
  return list;
}

Json one_or_null(const std::vector<DiffRow>& rows) { return rows.empty() ? Json(nullptr) : rows_json(rows)[0]; }

Json path_json(const std::vector<PathChange>& path) {
  if (path.empty()) return nullptr;
  Json json = Json::object();
  for (const PathChange& change : path)
    json[path_class_name(change.one)] = {{"a_pct", change.a_pct},
                                         {"b_pct", change.b_pct},
                                         {"a_ms_per_step", or_null(change.a_ms_per_step)},
                                         {"b_ms_per_step", or_null(change.b_ms_per_step)}};
  return json;
}

Json gate_json(const StepGate& gate) {
  Json json = {{"fail_over_pct", gate.limit_pct},
               {"result", gate_result_id(gate.result)},
               {"reason", gate_reason_id(gate.reason)},
               {"change_pct", or_null(gate.change_pct)},
               {"change_low_pct", or_null(gate.low_pct)},
               {"change_high_pct", or_null(gate.high_pct)},
               {"differing", Json::array()}};
  for (const DifferingSetting& one : gate.differing)
    json["differing"].push_back({{"setting", one.name}, {"a", one.a}, {"b", one.b}});
  return json;
}

Json run_json(const RunAnswer& run) {
  Json json = {{"path", run.path},
               {"ranks", run.ranks},
               {"hosts", run.hosts},
               {"mode", run.mode},
               {"wall_s", run.wall_s},
               {"processes", run.processes.size()},
               {"unreadable", run.unreadable.size()},
               {"steps", {{"map", step_map_json(run)}}}};
  add_jobs_json(run, json);
  return json;
}

}  // namespace

Json diff_document(const RunDiff& diff, const RunAnswer& a, const RunAnswer& b) {
  Json json = {{"schema", 1},
               {"hostprobe", hostprobe_json()},
               {"a", run_json(a)},
               {"b", run_json(b)},
               {"steps", steps_json(diff.steps)},
               {"findings", Json::array()},
               {"kernels", rows_json(diff.kernels)},
               {"collective_source", diff.collective_source},
               {"collectives", rows_json(diff.collectives)},
               {"waits", rows_json(diff.waits)},
               {"wakes", rows_json(diff.wakes)},
               {"launch_gaps", one_or_null(diff.launch_gaps)},
               {"progress", one_or_null(diff.progress)},
               {"delay_chain", rows_json(diff.delay_chain)},
               {"critical_path_pct", path_json(diff.path)},
               {"nothing_in_common", diff.nothing_in_common}};
  if (diff.gate) json["gate"] = gate_json(*diff.gate);
  for (const FindingChange& finding : diff.findings) json["findings"].push_back(finding_json(finding));
  return json;
}

std::string diff_json(const RunDiff& diff, const RunAnswer& a, const RunAnswer& b) {
  return json_text(diff_document(diff, a, b), 1);
}

}  // namespace hostprobe::analysis
