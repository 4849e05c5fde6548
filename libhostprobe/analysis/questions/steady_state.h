// steady_state.h: the waits, launches and synchronisations of the steps alone, and those of the start-up before them.
//
// Room 3. A first batch or an import takes seconds once: shares of the whole run would blame it for every step.
#pragma once

#include <tuple>

#include "analysis/timeline/steps.h"
#include "launches.h"
#include "process.h"
#include "syncs.h"
#include "waits.h"

namespace hostprobe::analysis {

class SteadyState {
 public:
  SteadyState(const Timeline& timeline, const StepPlan& plan)
      : has_steps_(plan.source != StepSource::kNone),
        span_(plan.span),
        before_{-std::numeric_limits<double>::infinity(), plan.span.begin_ns},
        start_up_(timeline),
        all_(timeline, timeline, timeline) {}
  void add(const Event& event) {
    if (!has_steps_) return;
    const bool counts = event.function == nullptr || event.is(kWaits) || event.is(kLaunches) || event.is(kSynchronises);
    if (counts) add_call(event);
  }
  void merge(SteadyState&& other);
  // Of the process whose whole answer is there.
  void finish(const Timeline& timeline, Symbols& symbols, ProcessAnswer& answer);

 private:
  void add_call(const Event& event);
  bool tells_the_run(const ProcessAnswer& answer, double before_ms) const;

  bool has_steps_;
  Window span_, before_;
  Waits start_up_;
  std::tuple<Waits, Launches, Syncs> all_;
};

}  // namespace hostprobe::analysis
