// other_calls.h: what is asked about the calls of a process that launch nothing: waits, collectives, marks, Python's collector and lock.
//
// Room 3. A part of questions.h. Nearly all calls are launches; who asks about others only is passed over together.
#pragma once

#include <map>
#include <tuple>

#include "analysis/measures/blocked_time.h"
#include "analysis/measures/gc_pauses.h"
#include "analysis/measures/gil_waits.h"
#include "analysis/measures/masks.h"
#include "analysis/measures/progress.h"
#include "analysis/measures/queue_samples.h"
#include "analysis/measures/regions.h"
#include "analysis/measures/running.h"
#include "analysis/ranks/collective_records.h"
#include "analysis/ranks/process_work.h"
#include "answer/process.h"

namespace hostprobe::analysis {

class OtherCalls {
 public:
  OtherCalls(const Timeline& timeline, const StepPlan& plan);
  void add(const Event& event);
  void merge(OtherCalls&& other);
  // Behind the answer about steps. Returns how long each thread was blocked.
  std::map<ThreadKey, Blocked> finish(Symbols& symbols, const Window& window, ProcessAnswer& answer, ProcessWork& work);

 private:
  std::tuple<BlockedTime, Collectives, CollectiveRecords, ProgressThreads, QueueSamples, Regions, Masks>
      made_of_timeline_;
  GcPauses gc_;
  GilWaits gil_;
  RunningTime running_;
};

}  // namespace hostprobe::analysis
