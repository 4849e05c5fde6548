// json_actions.cpp: see json_actions.h.
#include "json_actions.h"

namespace hostprobe::analysis {
namespace {

Json trial_json(const ProcessAnswer& process, double at_s, const TrialAnswer& trial) {
  const auto known = [&trial](double value) { return trial.has_interval ? Json(value) : Json(nullptr); };
  return {{"rank", or_null(process.rank)},
          {"pid", process.pid},
          {"at_s", at_s},
          {"fix", trial.fix},
          {"decision", trial.verdict},
          {"windows_without", trial.windows_without},
          {"windows_with", trial.windows_with},
          {"step_without_ms", trial.step_without_ms},
          {"step_with_ms", trial.step_with_ms},
          {"gain_pct", trial.gain_pct},
          {"gain_low_pct", known(trial.gain_low_pct)},
          {"gain_high_pct", known(trial.gain_high_pct)}};
}

}  // namespace

Json action_json(const ActionAnswer& event) {
  Json json = {{"kind", action_kind_name(event.kind)}, {"at_s", event.at_s}, {"text", event.text}};
  switch (event.kind) {
    case ActionKind::kTrigger:
      json["reason"] = trigger_reason_name(event.reason);
      json["dump"] = is_refused_trigger(event) ? Json(nullptr) : Json(event.number);
      json[is_refused_trigger(event) ? "refused" : "records"] = event.amount;
      break;
    case ActionKind::kDumpGone:
      json["dump"] = event.number;
      json["bytes"] = event.amount;
      break;
    case ActionKind::kHalted:
      json["ms"] = 1e-6 * static_cast<double>(event.amount);
      break;
    case ActionKind::kThrottled:
      json["periods"] = event.number;
      json["ms"] = 1e-6 * static_cast<double>(event.amount);
      break;
    case ActionKind::kDetail:
      json["shed"] = event.number;
      json["cost_pct"] = 1e-3 * static_cast<double>(event.amount);
      break;
    case ActionKind::kProfile:
      json["window"] = is_whole_window(event) ? Json(event.number) : Json(nullptr);
      json["bytes"] = event.amount;
      break;
    case ActionKind::kSource:
      json["errno"] = event.reason;
      break;
    default:
      break;
  }
  return json;
}

Json trials_json(const RunAnswer& run) {
  Json json = Json::array();
  for (const ProcessAnswer& process : run.processes)
    for (const ActionAnswer& action : process.actions)
      if (action.trial) json.push_back(trial_json(process, action.at_s, *action.trial));
  return json;
}

}  // namespace hostprobe::analysis
