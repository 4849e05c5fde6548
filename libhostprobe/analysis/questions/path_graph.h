// path_graph.h: what waited for what: host calls, GPU activities, and the edges between them, as they were recorded.
//
// Room 3. One process. Edges: launch to activity, activity to activity on a stream and across streams, activity to the
// synchronise that it ended, waker to waiter, call to call on a thread.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/timeline/activity.h"
#include "analysis/timeline/host_calls.h"

namespace hostprobe::analysis {

inline constexpr std::uint32_t kNoActivity = UINT32_MAX;

struct CallNumber {
  std::int32_t thread = -1;
  std::int32_t call = -1;
};

struct ActivityNode {
  std::uint32_t before = kNoActivity;      // on its stream
  std::uint32_t from_other = kNoActivity;  // on another stream, whose end let it begin
  CallNumber launch;
  double lag_ns = 0;   // from the begin of the launch call until the GPU could have begun
  double rest_ns = 0;  // from the last of all these to its begin
};

struct SyncNode {
  CallNumber call;
  std::uint32_t ended_by = kNoActivity;
};

struct PathGraph {
  const DeviceTimeline* device = nullptr;
  HostCalls host;
  std::vector<ActivityNode> nodes;                          // by activity
  std::vector<std::vector<std::uint32_t>> sync_activities;  // per thread and call, kNoActivity where none ended it
  std::size_t without_launch = 0;                           // activities whose launch call has no record

  const HostCall& call(const CallNumber& number) const {
    return host.threads[static_cast<std::size_t>(number.thread)].calls[static_cast<std::size_t>(number.call)];
  }
};

PathGraph make_path_graph(const Timeline& timeline, const DeviceTimeline& device, const Window& window);

}  // namespace hostprobe::analysis
