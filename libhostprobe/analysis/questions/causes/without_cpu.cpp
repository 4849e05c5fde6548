// without_cpu.cpp: see without_cpu.h.
#include "without_cpu.h"

#include <algorithm>

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

double beyond(const std::vector<double>& all_ns, double usual_ns) {
  double sum_ns = 0;
  for (const double ns : all_ns) sum_ns += std::max(0.0, ns - usual_ns);
  return sum_ns;
}

}  // namespace

WithoutCpu::WithoutCpu(const ProcessAnswer& answer, const PathGraph& graph, const Timeline& timeline,
                       const TimeAxis& axis, std::uint32_t process)
    : switches_(timeline.switches()), axis_(axis) {
  for (std::size_t i = 0; i < graph.host.threads.size(); ++i)
    if (graph.host.threads[i].process == process && graph.host.threads[i].track != nullptr)
      threads_[&graph.host.threads[i]] = estimate(answer, graph, i);
}

WithoutCpu::Thread WithoutCpu::estimate(const ProcessAnswer& answer, const PathGraph& graph, std::size_t number) const {
  Thread thread;
  const HostThread& one = graph.host.threads[number];
  std::vector<double> syncs, waits;
  for (std::size_t i = 0; i < one.calls.size(); ++i) {
    const HostCall& call = one.calls[i];
    const std::uint32_t ended_by = graph.sync_activities[number][i];
    if (ended_by != kNoActivity && call.type == HostCallType::kSynchronise)
      syncs.push_back(std::max(0.0, call.end_ns - graph.nodes[ended_by].end_ns));
    if (call.type == HostCallType::kWait) waits.push_back(std::max(0.0, call.end_ns - call.post_ns));
  }
  thread.usual_sync_ns = usual_of(syncs);
  thread.usual_wait_ns = usual_of(waits);
  const ThreadAnswer* times = answer.thread(one.track->key());
  if (times == nullptr || !times->time.cpu_ms || !times->time.run_delay_ms) return thread;
  const double late_ns = beyond(syncs, thread.usual_sync_ns) + beyond(waits, thread.usual_wait_ns);
  const double delay_ns = 1e6 * *times->time.run_delay_ms;
  if (late_ns > 0) thread.return_part = std::min(1.0, delay_ns / late_ns);
  const double rest_ns = std::max(0.0, delay_ns - late_ns), cpu_ns = 1e6 * *times->time.cpu_ms;
  if (rest_ns > 0) thread.own_part = rest_ns / (rest_ns + cpu_ns);
  return thread;
}

const ThreadSwitches* WithoutCpu::switches_in(const HostThread& thread, const Window& own) const {
  if (!switches_.any() || thread.track == nullptr) return nullptr;
  return switches_.in(thread.track->key(), own.begin_ns, own.end_ns);
}

double WithoutCpu::of_own(const HostThread& thread, const Window& window) const {
  const Window own = axis_.back(window);
  if (const ThreadSwitches* switches = switches_in(thread, own))
    return axis_.rate * switches->between(own.begin_ns, own.end_ns).preempted_ns;
  const auto found = threads_.find(&thread);
  return found == threads_.end() ? 0 : window.length_ns() * found->second.own_part;
}

double WithoutCpu::blocked_of_own(const HostThread& thread, const Window& window) const {
  const Window own = axis_.back(window);
  const ThreadSwitches* switches = switches_in(thread, own);
  return switches == nullptr ? 0 : axis_.rate * switches->between(own.begin_ns, own.end_ns).waiting_ns;
}

double WithoutCpu::of_return(const HostThread& thread, HostCallType type, const Window& window) const {
  const auto found = threads_.find(&thread);
  const Thread one = found == threads_.end() ? Thread{} : found->second;
  const double usual_ns = type == HostCallType::kWait ? one.usual_wait_ns : one.usual_sync_ns;
  const Window own = axis_.back(window);
  const ThreadSwitches* switches = switches_in(thread, own);
  if (switches == nullptr) return one.return_part * std::max(0.0, window.length_ns() - usual_ns);
  const OffTime off = switches->between(own.begin_ns, own.end_ns);
  return axis_.rate * (off.preempted_ns + std::max(0.0, off.waiting_ns - std::min(usual_ns, kLongestWayBackNs)));
}

}  // namespace hostprobe::analysis
