// collectives.cpp: see collectives.h.
#include "collectives.h"

#include <algorithm>
#include <string_view>

namespace hostprobe::analysis {

bool CollectiveCall::is_for_all() const {
  static constexpr std::string_view kOperations[] = {"AllReduce", "AllGather", "ReduceScatter", "AlltoAll"};
  return meets() && bytes > 0 && size > 1 &&
         std::find(std::begin(kOperations), std::end(kOperations), *operation) != std::end(kOperations);
}

CollectiveCall collective_call(const Event& event) {
  CollectiveCall call;
  call.communicator = event.communicator;
  call.sequence = event.collective.sequence;
  call.rank = event.collective.rank;
  call.size = event.collective.size;
  call.peer = event.collective.peer;
  call.bytes = event.bytes;
  call.begin_ns = event.collective.begin_monotonic_ns;
  call.host_ns = event.duration_ns;
  call.operation = event.function->operation;
  call.counted = event.counted;
  call.track = event.track;
  call.stack = event.stack;
  return call;
}

void CollectiveSpan::add(const CollectiveCall& call) {
  if (first.operation == nullptr || call.sequence < first.sequence) first = call;
  if (last.operation == nullptr || call.sequence > last.sequence) last = call;
}

void CollectiveShare::add(const CollectiveShare& other) {
  host.add(other.host);
  for (const auto& [number, time] : other.host_by_size) host_by_size[number].add(time);
  failed += other.failed;
  size = std::max(size, other.size);
  count += other.count;
  bytes += other.bytes;
  ranks.insert(other.ranks.begin(), other.ranks.end());
  counters = counters || other.counters;
}

void ProcessCollectives::add(const CollectiveCall& call) {
  CollectiveShare& share = shares[{call.communicator, *call.operation}];
  share.size = std::max(share.size, call.size);
  if (call.meets()) {
    share.ranks.insert(call.rank);
    ranks[call.communicator][call.rank].add(call);
  }
  if (call.counted) return;
  share.host.add(call.host_ns);
  if (call.sequence == 0) {
    ++share.failed;
    return;
  }
  ++share.count;
  share.bytes += call.bytes;
  share.host_by_size[size_class(call.bytes)].add(call.host_ns);
}

void ProcessCollectives::add(const CollectiveCounter& counter) {
  CollectiveShare& share = shares[{counter.communicator, *counter.operation}];
  with_counters.insert(counter.communicator);
  share.host.add(counter.host);
  if (counter.failed) {
    share.failed += counter.count;
    return;
  }
  share.count += counter.count;
  share.bytes += counter.bytes;
  share.host_by_size[kSizeUnknown].add(counter.host);
  share.counters = true;
}

void ProcessCollectives::merge(const ProcessCollectives& other) {
  for (const auto& [key, share] : other.shares) shares[key].add(share);
  for (const auto& [communicator, spans] : other.ranks) {
    for (const auto& [rank, span] : spans) {
      ranks[communicator][rank].add(span.first);
      ranks[communicator][rank].add(span.last);
    }
  }
  with_counters.insert(other.with_counters.begin(), other.with_counters.end());
}

void Collectives::add_calls(const Event& event) {
  if (event.type == EventType::kCall) {
    answer_.add(collective_call(event));
  } else {
    answer_.add(CollectiveCounter{event.communicator, event.function->operation, event.count, event.bytes,
                                  event.site == kSiteNotTaken, event.distribution->time});
  }
}

}  // namespace hostprobe::analysis
