// launches.h: GPU launches of one process: how many, how long a call takes, and the gaps between them.
//
// Room 3. A gap runs from the end of one launch call to the start of the next on the same thread: host time in which no
// new work reached the GPU. Where records are missing in between, the gap is not known and not counted. What a stream capture
// took reaches the GPU when its graph is launched: then its kernels count, each time.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "answer/launch.h"
#include "launch_pairs.h"
#include "model/timeline.h"

namespace hostprobe::analysis {

class Launches {
 public:
  explicit Launches(const Timeline& timeline);
  void add(const Event& event) {
    if (event.is(kLaunches)) event.type == EventType::kCall ? add_call(event) : add_counter(event);
  }
  void add(const LaunchRun& run);
  void merge(const Launches& other);
  // `run_ns`: what costs are a share of.
  LaunchAnswer finish(double run_ns);

 private:
  struct PerThread {
    Role role = Role::kOther;
    std::uint64_t count = 0;
    double begin_ns = std::numeric_limits<double>::infinity();  // of the first one with a record of its own
    double end_ns = -std::numeric_limits<double>::infinity();   // of the last
    double counted_ns = 0;                                      // calls and gaps in counters
  };

  PerThread& thread(const Track* track) {
    if (track != last_track_) {
      last_ = &threads_[track->key()];
      last_track_ = track;
      last_->role = track->role;
    }
    return *last_;
  }
  void count(const Event& event);
  void add_gaps(const LaunchRun& run);
  void add_call(const Event& event);
  void add_counter(const Event& event);

  std::vector<const Function*> functions_;
  std::vector<std::uint64_t> counts_;  // by row of the hook table
  std::map<ThreadKey, PerThread> threads_;
  const Track* last_track_ = nullptr;
  PerThread* last_ = nullptr;
  std::uint64_t kernels_ = 0;
  bool kernels_known_ = true;
  LaunchPairs pairs_;
  LaunchAnswer answer_;
};

}  // namespace hostprobe::analysis
