// without_cpu.cpp: see without_cpu.h.
#include "without_cpu.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "analysis/measures/quota.h"
#include "analysis/measures/run_delay.h"
#include "model/timeline.h"
#include "model/window.h"

namespace hostprobe::analysis {
namespace {

constexpr double kLongestWayBackNs = 200'000;  // no CPU that is idle takes longer to be there

// A quarter of the returns is quicker: also where most of them are late.
double usual_of(std::vector<double>& ns) {
  if (ns.empty()) return 0;
  const auto quarter = ns.begin() + static_cast<std::ptrdiff_t>(ns.size() / 4);
  std::nth_element(ns.begin(), quarter, ns.end());
  return *quarter;
}

double beyond(double ns, double usual_ns) { return std::max(0.0, ns - usual_ns); }

// Blocked for longer than the way back takes.
double blocked_on(const OffTime& off, double usual_ns) {
  return beyond(off.waiting_ns, std::min(usual_ns, kLongestWayBackNs));
}

// The first thread runs since its process does.
double begin_ns(const Trace& trace, const Thread& thread) {
  const bool is_first = thread.key.tid == trace.header.pid && trace.header.start.ticks != 0;
  const std::uint64_t ticks = is_first ? trace.header.start.ticks : thread.entry.start_ticks;
  return ticks == 0 ? -1e300 : TickReader(trace.clock).since_first_ns(ticks);
}

// The calls of a thread are known in steps alone.
bool is_covered(const std::vector<Window>& steps, const Window& window) {
  auto one = std::partition_point(steps.begin(), steps.end(),
                                  [&](const Window& step) { return step.end_ns <= window.begin_ns; });
  double ns = 0;
  for (; one != steps.end() && one->begin_ns < window.end_ns; ++one) ns += inside_ns(*one, window);
  return ns > 0.99 * window.length_ns();
}

// For how long threads of the driver's were ready without a CPU.
double driver_delay_ns(const ProcessAnswer& answer) {
  double ms = 0;
  for (const ThreadAnswer& thread : answer.threads)
    if (thread.role == Role::kCudaInternal) ms += thread.time.run_delay_ms.value_or(0);
  return 1e6 * ms;
}

}  // namespace

// From the moment at which a thread was to go on until it did.
struct WithoutCpu::Returns {
  struct One {
    double ns = 0;
    double end_ns = 0;  // on the trace's axis
    HostCallType type = HostCallType::kWait;
    std::optional<OffTime> off;  // where its switches are recorded
  };
  std::vector<One> all;  // by end

  double usual_ns(HostCallType type) const {
    std::vector<double> ns;
    for (const One& one : all)
      if (one.type == type) ns.push_back(one.ns);
    return usual_of(ns);
  }
  double late_of_syncs() const {
    const double usual_sync_ns = usual_ns(HostCallType::kSynchronise);
    double late_ns = 0;
    for (const One& one : all)
      if (one.type == HostCallType::kSynchronise) late_ns += beyond(one.ns, usual_sync_ns);
    return late_ns;
  }
};

WithoutCpu::WithoutCpu(const ProcessAnswer& answer, const PathGraph& graph, const Timeline& timeline,
                       const TimeAxis& axis, const std::map<ThreadKey, ThreadSamples>& samples,
                       const std::vector<Window>& steps, std::uint32_t process)
    : switches_(timeline.switches()), axis_(axis), use_(samples), allowed_cpus_(allowed_cpus(answer)) {
  double late_ns = 0;
  for (std::size_t i = 0; i < graph.host.threads.size(); ++i) {
    const HostThread& thread = graph.host.threads[i];
    if (thread.process != process || thread.track == nullptr) continue;
    const Returns returns = returns_of(graph, i);
    Thread& known = threads_[&thread] = estimate(answer, timeline, thread, returns);
    if (const auto own = samples.find(thread.track->key()); own != samples.end())
      known.supply = supply_of(thread, known, returns, own->second.supply, steps);
    late_ns += returns.late_of_syncs();
  }
  driver_left_ns_ = axis_.rate * driver_delay_ns(answer);
  driver_part_ = late_ns > 0 ? std::min(1.0, driver_left_ns_ / late_ns) : 0;
}

WithoutCpu::Returns WithoutCpu::returns_of(const PathGraph& graph, std::size_t number) const {
  Returns returns;
  const HostThread& thread = graph.host.threads[number];
  for (std::size_t i = 0; i < thread.calls.size(); ++i) {
    const HostCall& call = thread.calls[i];
    const std::uint32_t ended_by = graph.sync_activities[number][i];
    const bool is_sync = call.type == HostCallType::kSynchronise && ended_by != kNoActivity;
    if (!is_sync && call.type != HostCallType::kWait) continue;
    const Window window{is_sync ? graph.nodes[ended_by].end_ns : call.post_ns, call.end_ns};
    const Window own = axis_.back(window);
    Returns::One one{std::max(0.0, window.length_ns()), own.end_ns, call.type, {}};
    if (const ThreadSwitches* switches = window.length_ns() > 0 ? switches_in(thread, own) : nullptr)
      one.off = switches->between(own.begin_ns, own.end_ns);
    returns.all.push_back(one);
  }
  return returns;
}

WithoutCpu::Thread WithoutCpu::estimate(const ProcessAnswer& answer, const Timeline& timeline, const HostThread& one,
                                        const Returns& returns) const {
  Thread thread;
  thread.usual_sync_ns = returns.usual_ns(HostCallType::kSynchronise);
  thread.usual_wait_ns = returns.usual_ns(HostCallType::kWait);
  thread.since_ns = begin_ns(timeline.trace(), *one.track->thread);
  const std::optional<double> delay_ns = run_delay_ns(*one.track->thread);
  if (!delay_ns) return thread;
  const Window whole;
  const double left_ns = thread.bound_recorded(
      *delay_ns, switches_.of(one.track->key()).between(whole.begin_ns, whole.end_ns).preempted_ns, returns);
  thread.left_ns = axis_.rate * *delay_ns;
  // Of a part of its life the total says nothing.
  const ThreadAnswer* times = answer.thread(one.track->key());
  if (times != nullptr && times->time.cpu_ms && times->time.run_delay_ms) thread.spread(left_ns, *times, returns);
  return thread;
}

// What is recorded for sure comes first; then what is blocked behind a wake, for that may have been something else. Returns what is left.
double WithoutCpu::Thread::bound_recorded(double delay_ns, double preempted_ns, const Returns& returns) {
  double blocked_ns = 0;
  for (const Returns::One& one : returns.all)
    if (one.off) blocked_ns += blocked_on(*one.off, usual_ns(one.type));
  preempted_part = preempted_ns > 0 ? std::min(1.0, delay_ns / preempted_ns) : 1;
  delay_ns -= preempted_part * preempted_ns;
  recorded_return_part = blocked_ns > 0 ? std::min(1.0, delay_ns / blocked_ns) : 1;
  return std::max(0.0, delay_ns - recorded_return_part * blocked_ns);
}

void WithoutCpu::Thread::spread(double delay_ns, const ThreadAnswer& times, const Returns& returns) {
  double late_ns = 0;
  for (const Returns::One& one : returns.all)
    if (!one.off) late_ns += beyond(one.ns, usual_ns(one.type));
  if (late_ns > 0) return_part = std::min(1.0, delay_ns / late_ns);
  const double rest_ns = std::max(0.0, delay_ns - late_ns), cpu_ns = 1e6 * *times.time.cpu_ms;
  const double outside_ns = 1e6 * (times.time.wall_ms - times.blocked_ms);
  if (rest_ns > 0) own_part = rest_ns / std::max(rest_ns + cpu_ns, outside_ns);
}

// Returns that ended in there, beyond what is usual, as far as the total of the thread's life reaches.
double WithoutCpu::Thread::late_ns(const Returns& returns, const Window& own) const {
  auto one = std::partition_point(returns.all.begin(), returns.all.end(),
                                  [&](const Returns::One& some) { return some.end_ns <= own.begin_ns; });
  double ns = 0;
  for (; one != returns.all.end() && one->end_ns <= own.end_ns; ++one)
    if (!one->off) ns += return_part * beyond(one->ns, usual_ns(one->type));
  return ns;
}

double WithoutCpu::Thread::supplied(const Window& own, double Supply::*part, double elsewhere) const {
  auto one = std::partition_point(supply.begin(), supply.end(),
                                  [&](const Supply& some) { return some.window.end_ns <= own.begin_ns; });
  double ns = 0, known_ns = 0;
  for (; one != supply.end() && one->window.begin_ns < own.end_ns; ++one) {
    const double here_ns = inside_ns(one->window, own);
    known_ns += here_ns;
    ns += (*one).*part * here_ns;
  }
  return ns + elsewhere * std::max(0.0, own.length_ns() - known_ns);
}

std::vector<WithoutCpu::Supply> WithoutCpu::supply_of(const HostThread& thread, const Thread& known,
                                                      const Returns& returns, const std::vector<SupplySample>& samples,
                                                      const std::vector<Window>& steps) const {
  std::vector<Supply> all;
  for (const SupplySample& one : samples) {
    const Window own{one.begin_ns, one.end_ns}, window{axis_.of(own.begin_ns), axis_.of(own.end_ns)};
    if (own.length_ns() <= 0 || !is_covered(steps, window)) continue;
    const double own_ns = (window.length_ns() - thread.in_calls_ns(window)) / axis_.rate;
    // Who waits again and again is ready for a moment each time: that is the price of the wait, and no lack of CPUs.
    const double back_ns = way_back_ns(own) * static_cast<double>(one.runs);
    const double ready_ns = std::max(0.0, one.delay_ns - known.late_ns(returns, own) - back_ns);
    // What it ran for in calls is none of its own time: so it was blocked for this long at least.
    const double blocked_ns = std::max(0.0, own_ns - one.cpu_ns - ready_ns), most_ns = std::max(own_ns, 1.0);
    all.push_back({own, ready_ns / std::max(most_ns, one.cpu_ns + ready_ns), blocked_ns / most_ns});
  }
  return all;
}

double WithoutCpu::way_back_ns(const Window& own) const {
  if (allowed_cpus_ <= 0) return kUsualWayBackNs;
  return kUsualWayBackNs * std::clamp(1 - use_.cpus_in(own) / allowed_cpus_, 0.0, 1.0);
}

double WithoutCpu::cpu_ns(const Window& window) const { return use_.cpus_in(axis_.back(window)) * window.length_ns(); }

double WithoutCpu::Thread::take(double ns) {
  const double taken_ns = std::min(ns, left_ns);
  left_ns -= taken_ns;
  return taken_ns;
}

double WithoutCpu::take_of_driver(double late_ns) {
  const double taken_ns = std::min(driver_part_ * std::max(0.0, late_ns), driver_left_ns_);
  driver_left_ns_ -= taken_ns;
  return taken_ns;
}

WithoutCpu::Thread* WithoutCpu::find(const HostThread& thread) {
  const auto found = threads_.find(&thread);
  return found == threads_.end() ? nullptr : &found->second;
}

const ThreadSwitches* WithoutCpu::switches_in(const HostThread& thread, const Window& own) const {
  if (!switches_.any() || thread.track == nullptr) return nullptr;
  return switches_.in(thread.track->key(), own.begin_ns, own.end_ns);
}

double WithoutCpu::take_of_own(const HostThread& thread, const Window& window) {
  Thread* one = find(thread);
  if (one == nullptr) return 0;
  const Window own = axis_.back(window);
  if (const ThreadSwitches* switches = switches_in(thread, own))
    return one->take(axis_.rate * one->preempted_part * switches->between(own.begin_ns, own.end_ns).preempted_ns);
  const Window ran{std::max(own.begin_ns, one->since_ns), own.end_ns};
  return ran.length_ns() <= 0 ? 0 : one->take(axis_.rate * one->supplied(ran, &Supply::own_part, one->own_part));
}

double WithoutCpu::blocked_of_own(const HostThread& thread, const Window& window) const {
  const Window own = axis_.back(window);
  if (const ThreadSwitches* switches = switches_in(thread, own))
    return axis_.rate * switches->between(own.begin_ns, own.end_ns).waiting_ns;
  const auto found = threads_.find(&thread);
  return found == threads_.end() ? 0 : axis_.rate * found->second.supplied(own, &Supply::blocked_part, 0);
}

WayBack WithoutCpu::take_of_return(const HostThread& thread, HostCallType type, const Window& window) {
  Thread* one = find(thread);
  if (one == nullptr) return {};
  const double usual_ns = one->usual_ns(type), late_ns = beyond(window.length_ns(), usual_ns);
  const auto with_driver = [&](double own_ns, double blocked_ns) -> WayBack {
    const double driver_ns = type == HostCallType::kSynchronise ? take_of_driver(late_ns - own_ns) : 0;
    return {own_ns + driver_ns, std::max(0.0, blocked_ns - driver_ns)};
  };
  const Window own = axis_.back(window);
  const ThreadSwitches* switches = switches_in(thread, own);
  // Whether it sleeps or polls: the GPU that it waits for is told within the way back.
  const auto waits_on = [&](double own_ns) {
    return type == HostCallType::kSynchronise ? beyond(window.length_ns() - own_ns, kLongestWayBackNs) : 0;
  };
  if (switches == nullptr) {
    const double taken_ns = one->take(one->return_part * late_ns);
    return with_driver(taken_ns, waits_on(taken_ns));
  }
  const OffTime off = switches->between(own.begin_ns, own.end_ns);
  const double blocked_ns = blocked_on(off, usual_ns), ready_ns = one->recorded_return_part * blocked_ns;
  const double taken_ns = one->take(axis_.rate * (one->preempted_part * off.preempted_ns + ready_ns));
  // As long as that it may be a deep idle state.
  const double waits_on_ns = beyond(off.waiting_ns - ready_ns, kLongestWayBackNs);
  return with_driver(taken_ns, std::max(waits_on(taken_ns), axis_.rate * waits_on_ns));
}

}  // namespace hostprobe::analysis
