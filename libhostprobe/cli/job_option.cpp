// job_option.cpp: see job_option.h.
#include "job_option.h"

#include <fmt/format.h>

#include "output.h"
#include "run_folders.h"

namespace hostprobe::cli {

Option run_option(std::string& run) {
  return {.names = "RUN", .target = &run, .meaning = "The run folder, or one trace file", .required = true};
}

Option job_option(JobNumber& job, const std::string& name) {
  return {.names = name,
          .target = &job,
          .meaning = "Which job of the run folder, counted from 1 as they began; else the newest",
          .value_name = "N",
          .range = Range{1, 1u << 30}};
}

analysis::ChosenJob choose_job(const std::string& run, const JobNumber& job) {
  require_run(run);
  join_windows(run);
  analysis::ChosenJob chosen(run, job);
  if (chosen.folders.front() != run) {
    for (const std::string& folder : chosen.folders) join_windows(folder);
    chosen = analysis::ChosenJob(run, job);
  }
  if (chosen.is_newest_folder) say(fmt::format("{} is the newest run in {}", chosen.path, run));
  if (chosen.folders.size() > 1) say(fmt::format("{} folders in {} are of one job", chosen.folders.size(), run));
  return chosen;
}

void say_job(const analysis::ChosenJob& chosen) {
  if (!chosen.has_others()) return;
  say(fmt::format("job {} of {} in {}; --job 1..{} takes another", chosen.number, chosen.all.size(), chosen.path,
                  chosen.all.size()));
}

}  // namespace hostprobe::cli
