// json.cpp: see json.h.
#include "json.h"

#include "json_actions.h"
#include "json_collectives.h"
#include "json_findings.h"
#include "json_path.h"
#include "json_process.h"
#include "json_run.h"
#include "json_steps.h"
#include "report/delay_chain_text.h"
#include "report/json_text.h"
#include "report/kernel_report.h"
#include "report/verdict_text.h"

namespace hostprobe::analysis {

JsonValue report_document(const RunAnswer& run, const ReportOptions& options) {
  Json json = {{"schema", 1},
               {"hostprobe", hostprobe_json()},
               {"run",
                {{"path", run.path},
                 {"started", run.started().empty() ? Json(nullptr) : Json(run.started())},
                 {"hosts", run.hosts},
                 {"mode", run.mode},
                 {"ranks", run.ranks},
                 {"wall_s", run.wall_s},
                 {"clock_error_us", or_null(run.clock_error_us)}}},
               {"clocks", clocks_json(run.host_clocks)},
               {"verdict", verdict_json(run)},
               {"headline", headline(run)},
               {"findings", findings_json(run)},
               {"step_share_pct", step_shares_json(run)},
               {"step_time", step_time_json(run)},
               {"step_time_unknown", run.step_time ? Json(nullptr) : Json(time_unknown_id(run.step_time_unknown))},
               {"steps", steps_json(run)},
               {"critical_path_pct", path_shares_json(run.critical_path)},
               {"critical_path", run_path_json(run.critical_path)},
               {"processes", Json::array()},
               {"collectives", Json::array()},
               {"delay_chain", delay_chain_json(run)},
               {"trials", trials_json(run)},
               {"unreadable", Json::array()}};
  add_jobs_json(run, json["run"]);
  add_ranks_json(run, json["run"]);
  for (const ProcessAnswer& process : run.processes)
    if (options.shows(process)) {
      json["processes"].push_back(process_json(process));
      add_kernel_json(run.kernel.of(process.trace_path), json["processes"].back());
    }
  json["collectives"] = collectives_json(run.collectives);
  add_kernel_json(run, json);
  if (run.one_step)
    json["step"] = {{"number", run.one_step->number}, {"type", run.one_step->type}, {"ms", run.one_step->ms}};
  // Absent where nothing hangs.
  for (const StuckCollective& stuck : run.stuck) json["stuck"].push_back(stuck_json(stuck));
  for (const Unreadable& file : run.unreadable) {
    json["unreadable"].push_back({{"path", file.path}, {"what", file.what}, {"offset", file.offset}});
  }
  return json;
}

std::string report_json(const RunAnswer& run, const ReportOptions& options) {
  return json_text(report_document(run, options), 1);
}

}  // namespace hostprobe::analysis
