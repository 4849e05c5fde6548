// json_step_time.cpp: see json_step_time.h.
#include "json_step_time.h"

#include <map>

namespace hostprobe::analysis {
namespace {

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

Json step_shares_json(const RunAnswer& run) {
  if (!run.step_time || run.step_time->length_ns <= 0) return nullptr;
  std::map<std::string, double> pct;
  for (const LostTime& lost : run.step_time->lost)
    pct[cause_id(lost.cause)] += 100 * lost.ns / run.step_time->length_ns;
  return pct;
}

Json step_time_json(const RunAnswer& run) {
  if (!run.step_time || run.step_time->length_ns <= 0) return nullptr;
  Json json = {{"ms", 1e-6 * run.step_time->length_ns}, {"steps", run.step_time->steps}, {"lost", Json::array()}};
  for (const LostTime& lost : run.step_time->lost) json["lost"].push_back(lost_json(run, lost));
  return json;
}

}  // namespace hostprobe::analysis
