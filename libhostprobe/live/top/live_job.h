// live_job.h: a job that runs, as `hostprobe top` looks at it: shared memory each second, the analysis when it may.
//
// Room 3.
#pragma once

#include <string>
#include <utility>

#include "cause_reader.h"
#include "live_view.h"
#include "segment_reading.h"
#include "watched_run.h"

namespace hostprobe::analysis {

class LiveJob {
 public:
  // Throws as WatchedRun.
  explicit LiveJob(WatchTarget target) : target_(target), run_(std::move(target)) {}

  // Once a second.
  LiveView look();
  // Waits for the first causes; for who looks once.
  void await_causes() const;
  void begin_trial(const std::string& fix, bool on) { run_.begin_trial(fix, on); }
  // The analysis is at work in a thread of its own.
  bool is_busy() const { return causes_.is_busy(); }

 private:
  void read_causes(bool urgent);
  LiveView view() const;

  WatchTarget target_;
  WatchedRun run_;
  CauseReader causes_;
  std::uint64_t began_ns_ = now_monotonic_ns();
  double began_cpu_s_ = process_cpu_s();
  bool was_hanging_ = false;

  static double process_cpu_s();
};

}  // namespace hostprobe::analysis
