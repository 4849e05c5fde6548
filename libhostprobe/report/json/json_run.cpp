// json_run.cpp: see json_run.h.
#include "json_run.h"

#include "report/version.h"

namespace hostprobe::analysis {

Json hostprobe_json() { return {{"version", version()}, {"commit", commit()}}; }

void add_jobs_json(const RunAnswer& run, Json& json) {
  if (run.jobs.size() < 2) return;
  json["job"] = run.job;
  json["jobs"] = Json::array();
  for (const JobSummary& job : run.jobs) {
    const std::string started = utc_text(job.begin_realtime_ns);
    json["jobs"].push_back({{"job", json["jobs"].size() + 1},
                            {"started", started.empty() ? Json(nullptr) : Json(started)},
                            {"command", job.command},
                            {"traces", job.traces}});
  }
}

void add_ranks_json(const RunAnswer& run, Json& json) {
  if (!run.job_id.empty()) json["job_id"] = run.job_id;
  if (run.world > 0) json["world"] = run.world;
  if (!run.unwritten_ranks.empty()) json["unwritten_ranks"] = run.unwritten_ranks;
}

}  // namespace hostprobe::analysis
