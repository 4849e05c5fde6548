// blocked_time.h: how long each thread was in blocking calls, where one may lie inside another (a synchronise that waits
// on a condition variable) and counts once; and how much of that was behind the waker's post.
//
// Room 3.
#pragma once

#include <algorithm>
#include <map>

#include "answer/file_name.h"
#include "model/timeline.h"
#include "syncs.h"
#include "thread_time.h"
#include "wait_purpose.h"

namespace hostprobe::analysis {

class BlockedTime {
 public:
  explicit BlockedTime(const Timeline& timeline) : trace_(&timeline.trace()) {}
  // Calls of a thread come by begin time.
  void add(const Event& event) {
    if (event.type == EventType::kCounter)
      add_counter(event);
    else if ((event.is(kBlocks) || is_gpu_wait(event)) && !event.at_once && !event.counted)
      add_call(event);
  }
  // Threads are walked whole, so no thread is in both.
  void merge(const BlockedTime& other) { threads_.insert(other.threads_.begin(), other.threads_.end()); }
  std::map<ThreadKey, Blocked> finish() const {
    std::map<ThreadKey, Blocked> answer;
    for (const auto& [key, own] : threads_) {
      answer[key] = own.blocked;
      answer[key].ms += std::max(own.counted_syncs_ms, own.counted_in_driver_ms);
    }
    return answer;
  }

 private:
  struct PerThread {
    Blocked blocked;
    double covered_to_ns = -1e300;
    double woken_to_ns = -1e300;
    double counted_syncs_ms = 0;
    double counted_in_driver_ms = 0;  // waits that the driver made on this thread, most of them inside of those
  };

  void add_call(const Event& event) {
    PerThread& own = thread(event);
    const double from_ns = std::max(event.begin_ns, own.covered_to_ns);
    if (event.end_ns > from_ns) own.blocked.ms += 1e-6 * (event.end_ns - from_ns);
    own.covered_to_ns = std::max(own.covered_to_ns, event.end_ns);
    if (event.wake_ns < 0) return;
    // One inside another is told by the outer one: only a handler of a signal waits inside a wait that is woken.
    const double woken_from_ns = std::max(event.begin_ns, own.woken_to_ns);
    if (event.end_ns <= woken_from_ns) return;
    own.blocked.woken_ms += 1e-6 * (event.end_ns - woken_from_ns);
    own.blocked.wake_ms += 1e-6 * std::min(event.wake_ns, event.end_ns - woken_from_ns);
    own.blocked.run_queue_ms += 1e-6 * std::clamp(event.run_queue_ns, 0.0, event.end_ns - woken_from_ns);
    own.woken_to_ns = event.end_ns;
  }

  // Without a place in time. Those below the limit are short, so one inside another one is not worth a look.
  void add_counter(const Event& event) {
    const bool gpu = !event.below_limit && is_gpu_wait(event);
    if (!gpu && !event.is(event.below_limit ? kWaits : kBlocks)) return;
    PerThread& own = thread(event);
    const double ms = 1e-6 * event.duration_ns;
    if (gpu)
      own.counted_syncs_ms += ms;
    else if (in_driver(event))
      own.counted_in_driver_ms += ms;
    else
      own.blocked.ms += ms;
    if (event.below_limit) return;
    own.blocked.wake_ms += 1e-6 * event.distribution->wake_ns;
    if (event.distribution->wake.count() == event.count) own.blocked.woken_ms += ms;
  }

  bool in_driver(const Event& event) const {
    const Module* module = trace_->module_at(event.site);
    return module != nullptr && is_driver_library(base_name(module->path));
  }

  PerThread& thread(const Event& event) {
    if (event.track != last_track_) last_ = &threads_[event.track->key()];
    last_track_ = event.track;
    return *last_;
  }

  const Trace* trace_;
  std::map<ThreadKey, PerThread> threads_;
  const Track* last_track_ = nullptr;
  PerThread* last_ = nullptr;
};

}  // namespace hostprobe::analysis
