// loader_batches.cpp: see loader_batches.h.
#include "loader_batches.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

#include "call_causes.h"
#include "model/timeline.h"
#include "outside_peers.h"

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

// The thread of each pipe's writer, by inode; -1: there are several.
using PipeWriters = std::map<std::uint64_t, std::int32_t>;

void add_pipes(const Trace& trace, std::size_t thread, PipeWriters& found) {
  for (const EventRow& row : trace.events)
    if (row.kind == kEventWritesPipe)
      if (const auto [at, is_new] = found.emplace(row.number, static_cast<std::int32_t>(thread)); !is_new)
        at->second = -1;
}

// A worker's first thread stands for it.
PipeWriters pipe_writers(const PathGraph& graph, const std::vector<LoaderWorker>& workers) {
  PipeWriters found;
  for (std::size_t i = 0; i < graph.host.threads.size(); ++i) {
    const HostThread& thread = graph.host.threads[i];
    if (thread.process != 0 && thread.track->role == Role::kMain)
      add_pipes(workers[thread.process - 1].timeline->trace(), i, found);
  }
  return found;
}

// 0: it is none.
std::uint64_t pipe_of(std::string_view name) {
  constexpr std::string_view kPipe = "pipe:[";
  std::uint64_t inode = 0;
  if (name.starts_with(kPipe)) std::from_chars(name.data() + kPipe.size(), name.data() + name.size(), inode);
  return inode;
}

// Reads of a pipe into which one process writes wait for that.
void link_pipes(const Trace& trace, const PipeWriters& writers, HostThread& thread) {
  for (HostCall& call : thread.calls) {
    if (call.type != HostCallType::kOther || call.name == 0 || call.waker >= 0) continue;
    const auto writer = writers.find(pipe_of(awaited_thing(trace.strings.text(call.name))));
    if (writer == writers.end() || writer->second < 0) continue;
    call.type = HostCallType::kWait;
    call.waker = writer->second;
    call.post_ns = call.end_ns;
  }
}

// Who alone writes into a pipe is told by one what to write next: then it waits for that.
void link_orders(const Trace& trace, const std::vector<LoaderWorker>& workers, const PipeWriters& of_workers,
                 PathGraph& graph) {
  if (graph.main < 0) return;
  PipeWriters of_rank;
  add_pipes(trace, static_cast<std::size_t>(graph.main), of_rank);
  for (const auto& [inode, number] : of_workers) {
    if (number < 0) continue;
    HostThread& thread = graph.host.threads[static_cast<std::size_t>(number)];
    link_pipes(workers[thread.process - 1].timeline->trace(), of_rank, thread);
  }
}

}  // namespace

void link_batches(const Timeline& timeline, const std::vector<LoaderWorker>& workers, Symbols& symbols,
                  PathGraph& graph) {
  CallCauses causes(timeline, graph.host, symbols);
  const std::size_t own = graph.host.threads.size();
  for (const LoaderWorker& worker : workers) append(worker, graph);
  const PipeWriters of_pipes = pipe_writers(graph, workers);
  for (std::size_t i = 0; i < own; ++i) link_pipes(timeline.trace(), of_pipes, graph.host.threads[i]);
  link_orders(timeline.trace(), workers, of_pipes, graph);
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
