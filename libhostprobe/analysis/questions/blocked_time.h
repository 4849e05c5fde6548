// blocked_time.h: how long each thread was in blocking calls, where one may lie inside another (a synchronise that waits
// on a condition variable) and counts once.
//
// Room 3.
#pragma once

#include <algorithm>
#include <map>

#include "analysis/timeline/timeline.h"

namespace hostprobe::analysis {

class BlockedTime {
 public:
  explicit BlockedTime(const Timeline&) {}
  // Calls of a thread come by begin time.
  void add(const Event& event) {
    if (event.type == EventType::kCounter) {
      // Without a place in time. They are short, so one inside another one is not worth a look.
      if (event.is(event.below_limit ? kWaits : kBlocks)) thread(event).total_ns += event.duration_ns;
    } else if (event.is(kBlocks) && !event.at_once && !event.counted) {
      PerThread& own = thread(event);
      const double from_ns = std::max(event.begin_ns, own.covered_to_ns);
      if (event.end_ns > from_ns) own.total_ns += event.end_ns - from_ns;
      own.covered_to_ns = std::max(own.covered_to_ns, event.end_ns);
    }
  }
  // Threads are walked whole, so no thread is in both.
  void merge(const BlockedTime& other) { threads_.insert(other.threads_.begin(), other.threads_.end()); }
  std::map<ThreadKey, double> finish_ms() const {
    std::map<ThreadKey, double> ms;
    for (const auto& [key, own] : threads_) ms[key] = 1e-6 * own.total_ns;
    return ms;
  }

 private:
  struct PerThread {
    double total_ns = 0;
    double covered_to_ns = -1e300;
  };
  PerThread& thread(const Event& event) {
    if (event.track != last_track_) last_ = &threads_[event.track->key()];
    last_track_ = event.track;
    return *last_;
  }

  std::map<ThreadKey, PerThread> threads_;
  const Track* last_track_ = nullptr;
  PerThread* last_ = nullptr;
};

}  // namespace hostprobe::analysis
