// steady_state.cpp: see steady_state.h.
#include "steady_state.h"

#include <algorithm>

#include "wait_shares.h"

namespace hostprobe::analysis {
namespace {

constexpr double kOpenSteps = 3;  // a wait that has lasted as long as so many steps is what is to be told

}  // namespace

void SteadyState::add_call(const Event& event) {
  const auto add = [this](const Event& one) { std::apply([&one](auto&... each) { (each.add(one), ...); }, all_); };
  if (event.type != EventType::kCounter && event.begin_ns >= span_.begin_ns && event.end_ns <= span_.end_ns &&
      !event.counted) {
    add(event);
    return;
  }
  if (span_.holds(event)) add(span_.part_of(event));
  if (event.is(kWaits) && event.track->role == Role::kMain && before_.holds(event))
    start_up_.add(before_.part_of(event));
}

void SteadyState::merge(SteadyState&& other) {
  start_up_.merge(std::move(other.start_up_));
  std::get<Waits>(all_).merge(std::move(std::get<Waits>(other.all_)));
  std::get<Launches>(all_).merge(std::get<Launches>(other.all_));
  std::get<Syncs>(all_).merge(std::get<Syncs>(other.all_));
}

// Not where the main thread has left its steps behind: what it is in now, or did longer since, comes first then.
bool SteadyState::tells_the_run(const ProcessAnswer& answer, double before_ms) const {
  const double steps_ms = 1e-6 * span_.length_ns(), after_ms = answer.wall_ms - before_ms - steps_ms;
  const ThreadAnswer* main = answer.main_thread();
  const double open_ms = main != nullptr && main->open_wait ? main->open_wait->ms : 0;
  return after_ms <= steps_ms && open_ms <= kOpenSteps * 1e-6 * answer.steps.lengths.median_ns;
}

void SteadyState::finish(const Timeline& timeline, Symbols& symbols, ProcessAnswer& answer) {
  if (!has_steps_ || answer.steps.steps.empty()) return;
  const std::uint64_t begin = timeline.trace().clock.monotonic_ns_of(span_.begin_ns);
  const double before_ms =
      begin > answer.start_monotonic_ns ? 1e-6 * static_cast<double>(begin - answer.start_monotonic_ns) : 0;
  answer.start_up = StartUpAnswer{before_ms, start_up_.finish(symbols)};
  if (!tells_the_run(answer, before_ms)) return;
  auto steady = std::make_shared<ProcessAnswer>(answer);
  steady->wall_ms = 1e-6 * span_.length_ns();
  steady->waits = std::get<Waits>(all_).finish(symbols);
  steady->launches = std::get<Launches>(all_).finish(span_.length_ns());
  steady->syncs = std::get<Syncs>(all_).finish();
  share_out_waits(*steady);
  answer.steady = std::move(steady);
}

}  // namespace hostprobe::analysis
