// json_running.cpp: see json_running.h.
#include "json_running.h"

#include <cmath>

namespace hostprobe::analysis {
namespace {

Json row_json(const RunningRow& row, const RunningAnswer& running) {
  Json json = {{"function", text_or_null(row.function)},
               {"file", text_or_null(row.file)},
               {"line", row.line == 0 ? Json(nullptr) : Json(row.line)},
               {"library", text_or_null(row.library)},
               {"cpu_ms", 1e-6 * row.ns},
               {"ms_per_step", running.steps == 0 ? Json(nullptr) : Json(1e-6 * row.step_ns)},
               {"samples", row.samples}};
  if (!row.caller.empty()) json["caller"] = row.caller;
  return json;
}

Json rows_json(const std::vector<RunningRow>& rows, const RunningAnswer& running) {
  Json list = Json::array();
  for (const RunningRow& row : rows) list.push_back(row_json(row, running));
  return list;
}

Json node_json(const StackNode& node) {
  Json json = Json::array();
  json.push_back(node.parent);
  json.push_back(node.frame);
  json.push_back(std::round(1e-4 * node.ns) / 100);  // ms, to 10 us
  return json;
}

}  // namespace

Json stacks_json(const std::vector<StackTree>& trees) {
  Json list = Json::array();
  for (const StackTree& tree : trees) {
    Json json = {{"tid", tree.tid},           {"thread", tree.title},  {"state", tree.waiting ? "waiting" : "running"},
                 {"in_steps", tree.in_steps}, {"frames", tree.frames}, {"nodes", Json::array()}};
    for (const StackNode& node : tree.nodes) json["nodes"].push_back(node_json(node));
    list.push_back(std::move(json));
  }
  return list;
}

void add_running(const ProcessAnswer& process, const ThreadAnswer& thread, Json& json) {
  const RunningAnswer* running = process.running_of(thread);
  if (running == nullptr) return;
  const bool is_python = running->python_samples > running->torn;
  json["running"] = rows_json(is_python ? running->python : running->code, *running);
  if (is_python && running->code_samples > 0) json["running_code"] = rows_json(running->code, *running);
  json["running_samples"] = {
      {"python", running->python_samples},      {"code", running->code_samples},      {"torn", running->torn},
      {"python_ms", 1e-6 * running->python_ns}, {"code_ms", 1e-6 * running->code_ns}, {"steps", running->steps}};
}

}  // namespace hostprobe::analysis
