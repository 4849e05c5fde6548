// syncs.h: calls in which the program waits for the GPU (stream, event and context synchronise).
//
// Room 3.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "analysis/timeline/timeline.h"

namespace hostprobe::analysis {

struct SyncAnswer {
  bool hooked = false;
  Histogram time;
  std::map<std::string, std::uint64_t> by_function;
  std::map<Role, double> total_ms_by_role;
  double share_pct = 0;  // of the lives of the threads that wait most, each instant once
};

class Syncs {
 public:
  explicit Syncs(const Timeline& timeline);
  void add(const Event& event) {
    if (event.is(kSynchronises)) add_sync(event);
  }
  void merge(const Syncs& other);
  SyncAnswer finish() { return std::move(answer_); }

 private:
  void add_sync(const Event& event);

  SyncAnswer answer_;
};

}  // namespace hostprobe::analysis
