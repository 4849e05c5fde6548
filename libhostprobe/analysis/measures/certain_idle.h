// certain_idle.h: time in which the GPU certainly had nothing to do, from records of host calls alone.
//
// Room 3. From the return of a synchronise after which no stream has work left to the next call that gives the GPU work, in
// any thread. A lower bound: what was finished before anybody waited for it is not seen, and of an event nobody knows the
// stream.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "answer/gpu.h"
#include "answer/window.h"
#include "model/timeline.h"

namespace hostprobe::analysis {

class CertainIdleTime {
 public:
  CertainIdleTime(const Timeline& timeline, const Window& window);
  // All of a thread's, by begin time, also those outside of the window.
  void add(const Event& event) {
    if (is_asked_ && event.type != EventType::kCounter) add_event(event);
  }
  void add(const LaunchRun& run) {
    if (is_asked_) add_launches(run);
  }
  // Threads are walked whole, so no thread is in both.
  void merge(CertainIdleTime&& other) {
    threads_.merge(other.threads_);
    track_ = nullptr;
  }
  // Nothing where records of launches are missing, or there are too many to look at.
  std::optional<CertainIdle> finish() const;

 private:
  enum class Does : std::uint8_t { kNothing, kGivesWork, kWaits, kBoth };
  struct HookUse {
    Does does = Does::kNothing;
    int stream = -1;  // which word; -1: stream 0, or every stream of a context
    bool context = false;
    bool per_thread = false;  // stream 0 is the thread's own
  };
  struct DeviceCall {
    double begin_ns;
    double end_ns;
    std::uint64_t stream;
    Does does;
  };
  struct PerThread {
    std::vector<DeviceCall> calls;
    bool whole = true;
  };
  struct Moment;
  class Sweep;

  static HookUse use_of(const Hook& hook);
  static std::vector<Moment> moments_of(const std::vector<DeviceCall>& calls);
  PerThread& of(const Track* track) {
    if (track != track_) own_ = &threads_[track];
    track_ = track;
    return *own_;
  }
  void add_event(const Event& event);
  void add_launches(const LaunchRun& run);
  // At once: most calls of the thread that launches are such, and what is not needed is never touched.
  std::vector<DeviceCall>& calls_of(const Track& track) {
    std::vector<DeviceCall>& calls = of(&track).calls;
    if (calls.empty()) calls.reserve(track.thread->kept);
    return calls;
  }
  static std::uint64_t stream_of(std::uint64_t word, const HookUse& use, std::uint32_t tid);
  bool has_counters(const Thread& thread) const;

  Window window_;
  bool is_asked_;
  std::vector<HookUse> uses_;  // by row of the hook table
  std::map<const Track*, PerThread> threads_;
  const Track* track_ = nullptr;  // whose events come
  PerThread* own_ = nullptr;
};

// Of a part of the timeline, read for this alone.
std::optional<CertainIdle> answer_certain_idle(const Timeline& timeline, const Window& window);

}  // namespace hostprobe::analysis
