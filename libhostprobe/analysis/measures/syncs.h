// syncs.h: calls in which the program waits for the GPU (stream, event and context synchronise).
//
// Room 3.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "answer/gpu.h"
#include "model/timeline.h"

namespace hostprobe::analysis {

// Whether a call waited for the GPU. Of copies and of what changes memory only the long ones did.
inline bool is_gpu_wait(const Event& event) {
  constexpr double kLongNs = 100e3;
  if (event.is(kSynchronises)) return true;
  if (!event.is(kMemory) && !event.is(kCopies)) return false;
  return event.duration_ns >= kLongNs * static_cast<double>(event.count);
}

class Syncs {
 public:
  explicit Syncs(const Timeline& timeline);
  void add(const Event& event) {
    if ((event.is(kMemory) || event.is(kCopies)) && is_gpu_wait(event)) add_stall(event);
    if (event.is(kSynchronises)) add_sync(event);
  }
  void merge(const Syncs& other);
  SyncAnswer finish() { return std::move(answer_); }

 private:
  void add_sync(const Event& event);
  void add_stall(const Event& event);

  SyncAnswer answer_;
};

}  // namespace hostprobe::analysis
