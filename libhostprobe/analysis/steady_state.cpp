// steady_state.cpp: see steady_state.h.
#include "steady_state.h"

#include <algorithm>

#include "analysis/measures/wait_shares.h"
#include "model/window.h"

namespace hostprobe::analysis {
namespace {

constexpr double kOpenSteps = 3;  // a wait that has lasted as long as so many steps is what is to be told

// What the kernel counted of the main thread until then is start-up too. How the rest divides is not known.
void leave_out_start_up(const Trace& trace, ProcessAnswer& steady) {
  const EventRow* known = trace.steps_known();
  for (ThreadAnswer& thread : steady.threads) {
    if (thread.tid != steady.pid || known == nullptr || known->amount == 0) continue;
    ThreadTime& time = thread.time;
    time.wall_ms = std::min(time.wall_ms, steady.wall_ms);
    if (time.run_delay_ms)
      time.run_delay_ms = std::max(0.0, *time.run_delay_ms - 1e-6 * static_cast<double>(known->amount));
    time.cpu_ms = time.preempted_ms = time.run_queue_ms = std::nullopt;
  }
}

}  // namespace

std::optional<double> SteadyState::steps_known_ns(const Timeline& timeline) {
  const EventRow* known = timeline.trace().steps_known();
  if (known == nullptr) return std::nullopt;
  return TickReader(timeline.trace().clock).since_first_ns(known->ticks);
}

void SteadyState::add_cut(const Event& event) {
  if (event.in_steps != nullptr) {
    if (event.in_steps->count != 0) ask(cut_, *event.in_steps);
    return;
  }
  if (holds(span_, event)) ask(cut_, part_of(span_, event));
  if (event.is(kWaits) && event.track->role == Role::kMain && holds(before_, event))
    start_up_.add(part_of(before_, event));
}

void SteadyState::merge(Asked& asked, Asked&& other) {
  std::get<Waits>(asked).merge(std::move(std::get<Waits>(other)));
  std::get<Launches>(asked).merge(std::get<Launches>(other));
  std::get<Syncs>(asked).merge(std::get<Syncs>(other));
}

void SteadyState::merge(SteadyState&& other) {
  start_up_.merge(std::move(other.start_up_));
  merge(outside_, std::move(other.outside_));
  merge(inside_, std::move(other.inside_));
  merge(cut_, std::move(other.cut_));
}

void SteadyState::finish_whole(Symbols& symbols, ProcessAnswer& answer) {
  merge(outside_, Asked(inside_));
  answer.waits = std::get<Waits>(outside_).finish(symbols);
  answer.launches = std::get<Launches>(outside_).finish(1e6 * answer.wall_ms);
  answer.syncs = std::get<Syncs>(outside_).finish();
}

double SteadyState::steps_ms(const ProcessAnswer& answer, double before_ms) const {
  return counted_since_ns_ ? std::max(0.0, answer.wall_ms - before_ms) : 1e-6 * span_.length_ns();
}

// Not where the main thread has left its steps behind: what it is in now, or did longer since, comes first then.
bool SteadyState::tells_the_run(const ProcessAnswer& answer, double before_ms) const {
  const double steps_ms = this->steps_ms(answer, before_ms), after_ms = answer.wall_ms - before_ms - steps_ms;
  const ThreadAnswer* main = answer.main_thread();
  const double open_ms = main != nullptr && main->open_wait ? main->open_wait->ms : 0;
  return after_ms <= steps_ms && open_ms <= kOpenSteps * 1e-6 * answer.steps.lengths.median_ns;
}

void SteadyState::finish(const Timeline& timeline, Symbols& symbols, ProcessAnswer& answer) {
  if (!counted_since_ns_ && (!has_steps_ || answer.steps.steps.empty())) return;
  const std::uint64_t begin = timeline.trace().clock.monotonic_ns_of(span_.begin_ns);
  const double before_ms =
      begin > answer.start_monotonic_ns ? 1e-6 * static_cast<double>(begin - answer.start_monotonic_ns) : 0;
  // Steps are detected in records; where older ones are gone, so are older steps.
  const bool has_first_step =
      !counted_since_ns_ && (answer.steps.source == StepSource::kMarks || answer.whole_since_ms.value_or(0) <= 0);
  if (has_first_step) answer.start_up = StartUpAnswer{before_ms, start_up_.finish(symbols)};
  if (!tells_the_run(answer, before_ms)) return;
  auto steady = std::make_shared<ProcessAnswer>(answer);
  steady->wall_ms = steps_ms(answer, before_ms);
  merge(inside_, std::move(cut_));
  steady->waits = std::get<Waits>(inside_).finish(symbols);
  steady->launches = std::get<Launches>(inside_).finish(1e6 * steady->wall_ms);
  steady->syncs = std::get<Syncs>(inside_).finish();
  share_out_waits(*steady);
  if (counted_since_ns_) leave_out_start_up(timeline.trace(), *steady);
  answer.steady = std::move(steady);
}

}  // namespace hostprobe::analysis
