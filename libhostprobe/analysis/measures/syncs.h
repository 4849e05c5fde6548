// syncs.h: calls in which the program waits for the GPU (stream, event and context synchronise).
//
// Room 3.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "model/timeline.h"

namespace hostprobe::analysis {

// Calls that return at once, unless the GPU has to be waited for.
struct GpuStall {
  std::uint64_t count = 0;
  std::map<Role, double> ms_by_role;
  double share_pct = 0;  // as of synchronisations

  double total_ms() const {
    double ms = 0;
    for (const auto& [role, of_role] : ms_by_role) ms += of_role;
    return ms;
  }
  void add(const GpuStall& other) {
    count += other.count;
    for (const auto& [role, ms] : other.ms_by_role) ms_by_role[role] += ms;
  }
};

// Whether a call waited for the GPU. Of copies and of what changes memory only the long ones did.
inline bool is_gpu_wait(const Event& event) {
  constexpr double kLongNs = 100e3;
  if (event.is(kSynchronises)) return true;
  if (!event.is(kMemory) && !event.is(kCopies)) return false;
  return event.duration_ns >= kLongNs * static_cast<double>(event.count);
}

struct SyncAnswer {
  bool hooked = false;
  Histogram time;
  std::map<std::string, std::uint64_t> by_function;
  std::map<Role, double> total_ms_by_role;
  double share_pct = 0;  // of the lives of the threads that wait most, each instant once
  GpuStall memory;       // allocations and frees, the latter among the synchronisations too
  GpuStall copies;       // into a stream, of memory that is not pinned
};

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
