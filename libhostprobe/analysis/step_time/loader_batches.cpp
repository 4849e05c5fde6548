// loader_batches.cpp: see loader_batches.h.
#include "loader_batches.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "call_causes.h"
#include "model/timeline.h"

namespace hostprobe::analysis {
namespace {

// When a thread that writes began to wait again.
struct Delivery {
  std::int32_t thread = -1;
  double at_ns = 0;
};

void append(const LoaderWorker& worker, PathGraph& graph) {
  HostCalls own = host_calls(*worker.timeline, worker.windows);
  put_on(worker.axis, own);
  const auto first = static_cast<std::int32_t>(graph.host.threads.size());
  graph.worker_collections.push_back(std::move(own.collections));
  for (HostThread& thread : own.threads) {
    thread.process = static_cast<std::uint32_t>(graph.worker_collections.size());
    for (HostCall& call : thread.calls)
      if (call.waker >= 0) call.waker += first;
    graph.sync_activities.emplace_back(thread.calls.size(), kNoActivity);
    graph.host.threads.push_back(std::move(thread));
  }
}

bool is_woken_by_maker(const PathGraph& graph, const HostCall& call) {
  return call.type == HostCallType::kWait &&
         graph.host.threads[static_cast<std::size_t>(call.waker)].track->role == Role::kDataloader;
}

// Threads of workers that others of theirs hand batches to.
std::vector<std::int32_t> writers(const PathGraph& graph) {
  std::vector<std::int32_t> found;
  for (std::size_t i = 0; i < graph.host.threads.size(); ++i) {
    const HostThread& thread = graph.host.threads[i];
    if (thread.process == 0 || thread.track->role == Role::kDataloader) continue;
    if (std::any_of(thread.calls.begin(), thread.calls.end(),
                    [&graph](const HostCall& call) { return is_woken_by_maker(graph, call); }))
      found.push_back(static_cast<std::int32_t>(i));
  }
  return found;
}

// The nearest begin of a wait behind a wake that was before that moment.
std::optional<double> delivered_at(const PathGraph& graph, const HostThread& thread, double end_ns) {
  for (std::ptrdiff_t i = thread.call_at(end_ns); i >= 0; --i) {
    const HostCall& call = thread.calls[static_cast<std::size_t>(i)];
    if (call.end_ns > end_ns || !is_woken_by_maker(graph, call)) continue;
    if (i + 1 == std::ssize(thread.calls)) return std::nullopt;
    return thread.calls[static_cast<std::size_t>(i + 1)].begin_ns;
  }
  return std::nullopt;
}

Delivery delivery_of(const PathGraph& graph, const std::vector<std::int32_t>& threads, double end_ns) {
  Delivery nearest;
  for (const std::int32_t thread : threads) {
    const auto at_ns = delivered_at(graph, graph.host.threads[static_cast<std::size_t>(thread)], end_ns);
    if (at_ns && (nearest.thread < 0 || std::abs(*at_ns - end_ns) < std::abs(nearest.at_ns - end_ns)))
      nearest = {thread, *at_ns};
  }
  return nearest;
}

}  // namespace

void link_batches(const Timeline& timeline, const std::vector<LoaderWorker>& workers, Symbols& symbols,
                  PathGraph& graph) {
  CallCauses causes(timeline, graph.host, symbols);
  const std::size_t own = graph.host.threads.size();
  for (const LoaderWorker& worker : workers) append(worker, graph);
  const std::vector<std::int32_t> threads = writers(graph);
  for (std::size_t i = 0; i < own; ++i)
    for (HostCall& call : graph.host.threads[i].calls) {
      if (call.type != HostCallType::kOther) continue;
      if (causes.of(call, graph.host.threads[i].track->role).cause != Cause::kDataloaderWait) continue;
      const Delivery delivery = delivery_of(graph, threads, call.end_ns);
      if (delivery.thread < 0) continue;
      call.type = HostCallType::kWait;
      call.waker = delivery.thread;
      call.post_ns = std::clamp(delivery.at_ns, call.begin_ns, call.end_ns);
    }
}

}  // namespace hostprobe::analysis
