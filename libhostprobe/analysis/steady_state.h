// steady_state.h: the waits, launches and synchronisations of the whole run and of its steps alone, and the waits of the
// start-up before them.
//
// Room 3. A first batch or an import takes seconds once: shares of the whole run would blame it for every step. Most calls lie
// in the steps and count for both: they are added once.
#pragma once

#include <optional>
#include <tuple>

#include "analysis/measures/launches.h"
#include "analysis/measures/syncs.h"
#include "analysis/measures/waits.h"
#include "answer/process.h"
#include "model/steps.h"

namespace hostprobe::analysis {

class SteadyState {
 public:
  SteadyState(const Timeline& timeline, const StepPlan& plan)
      : has_steps_(plan.source != StepSource::kNone),
        counted_since_ns_(has_steps_ ? std::nullopt : steps_known_ns(timeline)),
        span_(counted_since_ns_ ? Window{*counted_since_ns_, Window().end_ns} : plan.span),
        before_{-std::numeric_limits<double>::infinity(), span_.begin_ns},
        start_up_(timeline),
        outside_(timeline, timeline, timeline),
        inside_(timeline, timeline, timeline),
        cut_(timeline, timeline, timeline) {}
  void add(const Event& event) {
    if (!event.is(kAsked)) return;
    if (is_inside(event)) return ask(inside_, event);
    ask(outside_, event);
    if (has_span()) add_cut(event);
  }
  void add(const LaunchRun& run) {
    if (!has_span()) return std::get<Launches>(outside_).add(run);
    if (is_inside(run)) return std::get<Launches>(inside_).add(run);
    for (const PlainLaunch& launch : run.launches) add(event_of(*run.track, launch));
  }
  void merge(SteadyState&& other);
  void finish_whole(Symbols& symbols, ProcessAnswer& answer);
  // Behind that, of the process whose whole answer is there.
  void finish(const Timeline& timeline, Symbols& symbols, ProcessAnswer& answer);

 private:
  using Asked = std::tuple<Waits, Launches, Syncs>;
  static constexpr Trait kAsked = Trait{kWaits | kLaunches | kSynchronises | kMemory | kCopies};

  static void ask(Asked& asked, const Event& event) {
    std::apply([&event](auto&... each) { (each.add(event), ...); }, asked);
  }
  static void merge(Asked& asked, Asked&& other);
  static std::optional<double> steps_known_ns(const Timeline& timeline);
  bool has_span() const { return has_steps_ || counted_since_ns_; }
  // All of it, and what counters know of it they know of the whole run.
  bool is_inside(const Event& event) const {
    return has_span() && event.type != EventType::kCounter && !event.counted && event.begin_ns >= span_.begin_ns &&
           event.end_ns <= span_.end_ns && (!event.has_gap || event.begin_ns - event.gap_ns >= span_.begin_ns);
  }
  bool is_inside(const LaunchRun& run) const {
    const PlainLaunch& first = run.launches.front();
    return first.begin_ns - (first.has_gap ? first.gap_ns : 0) >= span_.begin_ns && first.begin_ns >= span_.begin_ns &&
           run.last_end_ns <= span_.end_ns;
  }
  void add_cut(const Event& event);
  double steps_ms(const ProcessAnswer& answer, double before_ms) const;
  bool tells_the_run(const ProcessAnswer& answer, double before_ms) const;

  bool has_steps_;
  // Of steps that have no place in time: when what counters held until then was put aside.
  std::optional<double> counted_since_ns_;
  Window span_, before_;
  Waits start_up_;
  Asked outside_;  // of the run alone
  Asked inside_;   // of both
  Asked cut_;      // of the steps alone: the parts of calls that reach out of them, and what has counters for the whole
};

}  // namespace hostprobe::analysis
