// live_job.cpp: see live_job.h.
#include "live_job.h"

#include <time.h>

#include <chrono>
#include <thread>

#include "analysis/run_answer.h"
#include "trace/jobs.h"

namespace hostprobe::analysis {

double LiveJob::process_cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// On one core, so that its CPU time is that of one thread, and known.
void LiveJob::read_causes(bool urgent) {
  if (run_.traces().empty() || !causes_.is_due(now_monotonic_ns(), urgent)) return;
  const bool is_run = !target_.run.empty();
  causes_.start([path = is_run ? target_.run : run_.traces().front(), job = is_run ? target_.job : std::nullopt] {
    return analyse_run(
        ChosenJob(path, job), [](std::uint64_t, std::uint64_t) {}, Effort{.cores = 1});
  });
}

LiveView LiveJob::view() const {
  const std::optional<CauseReading> newest = causes_.newest();
  std::optional<double> age_s;
  if (newest) age_s = 1e-9 * static_cast<double>(now_monotonic_ns() - newest->at_ns);
  LiveView view = run_.view(newest ? &newest->causes : nullptr, age_s);
  const double wall_s = 1e-9 * static_cast<double>(now_monotonic_ns() - began_ns_);
  view.own_cpu_pct = wall_s > 0 ? 100 * (process_cpu_s() - began_cpu_s_) / wall_s : 0;
  return view;
}

LiveView LiveJob::look() {
  run_.read();
  LiveView now = view();
  // Who is missing in a collective is worth a look out of turn, once.
  const bool hangs = !now.hang.empty();
  if (!now.has_ended()) read_causes(hangs && !was_hanging_);
  was_hanging_ = hangs;
  return now;
}

void LiveJob::await_causes() const {
  while (causes_.is_busy()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

}  // namespace hostprobe::analysis
