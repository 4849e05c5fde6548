// progress.h: how well NCCL's progress threads keep up: the time between two looks at their work while there is some.
//
// Room 3. A look is a call of sched_yield with no wait since the one before (probe/progress.h). Intervals below
// HOSTPROBE_STALL_US come as counters, the longer ones as records.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "answer/thread.h"
#include "model/timeline.h"

namespace hostprobe::analysis {

class ProgressThreads {
 public:
  explicit ProgressThreads(const Timeline& timeline);
  void add(const Event& event) {
    if (event.is(kPolls)) add_polls(event);
    if (event.is(kNccl) && event.type == EventType::kCall) add_call(event);
  }
  void merge(const ProgressThreads& other);
  std::vector<ProgressAnswer> finish();

 private:
  // When and by which thread of the program a thread of NCCL's was started, NCCL's own threads in between left out.
  struct Birth {
    std::uint32_t creator_tid = 0;
    double ns = 0;
    std::uint64_t communicator = 0;
    double communicator_ns = -1e300;  // when the call began that told it
  };

  // Any record of NCCL's: the call inside which a thread came to be tells whose it is.
  void add_call(const Event& event);
  void add_polls(const Event& event);
  ProgressAnswer& of(const Track& track);

  static Birth birth_of(const Timeline& timeline, const Track& track);

  std::map<ThreadKey, ProgressAnswer> threads_;
  std::map<ThreadKey, Birth> births_;
};

}  // namespace hostprobe::analysis
