// gc_pauses.cpp: see gc_pauses.h.
#include "gc_pauses.h"

#include <algorithm>

#include "model/window.h"

namespace hostprobe::analysis {
namespace {

bool was_asked(const Trace& trace) {
  return std::any_of(trace.hooks.begin(), trace.hooks.end(),
                     [](const Hook& hook) { return hook.used && hook.role == HookRole::kGarbage; });
}

Window later_half_of(const Trace& trace) {
  TickReader ticks(trace.clock);
  const double begin_ns = trace.header.start.ticks != 0 ? ticks.since_first_ns(trace.header.start.ticks) : 0;
  const double end_ns = std::max(begin_ns, ticks.since_first_ns(trace.last.ticks));
  return {(begin_ns + end_ns) / 2, end_ns};
}

}  // namespace

GcPauses::GcPauses(const Timeline& timeline, const StepPlan& plan)
    : is_told_(was_asked(timeline.trace())),
      has_steps_(plan.source != StepSource::kNone),
      span_(plan.span),
      later_half_(later_half_of(timeline.trace())) {
  answer_.later_half_ns = later_half_.length_ns();
}

void GcPauses::add_pause(const Event& event) {
  // The records of what counters hold, too, tell when it was.
  if (event.type == EventType::kCall) {
    if (has_steps_) answer_.in_steps_ns += inside_ns(span_, event);
    answer_.placed_ns += event.duration_ns;
    answer_.late_ns += inside_ns(later_half_, event);
  }
  if (event.counted) return;
  Histogram& generation = answer_.by_generation[event.work];
  if (event.distribution != nullptr) {
    answer_.time.add(event.distribution->time);
    generation.add(event.distribution->time);
  } else {
    answer_.time.add(event.duration_ns);
    generation.add(event.duration_ns);
  }
}

void GcPauses::merge(const GcPauses& other) {
  answer_.time.add(other.answer_.time);
  answer_.in_steps_ns += other.answer_.in_steps_ns;
  answer_.placed_ns += other.answer_.placed_ns;
  answer_.late_ns += other.answer_.late_ns;
  for (const auto& [generation, time] : other.answer_.by_generation) answer_.by_generation[generation].add(time);
}

std::optional<GcAnswer> GcPauses::finish() const {
  if (!is_told_ && answer_.time.count() == 0) return std::nullopt;
  return answer_;
}

}  // namespace hostprobe::analysis
