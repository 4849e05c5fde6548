// path_graph.h: what waited for what: host calls, GPU activities, and the edges between them, as they were recorded.
//
// Room 3. One process. Edges: launch to activity, activity to activity on a stream and across streams, activity to the
// synchronise that it ended, waker to waiter, call to call on a thread. job_graph.h puts those of several ranks together.
#pragma once

#include <cstdint>
#include <vector>

#include "answer/window.h"
#include "model/host_calls.h"

namespace hostprobe::analysis {

struct DeviceTimeline;
struct HostClock;

inline constexpr double kClockErrorNs = 1000;  // the host's clock and the GPU's, of the same moment

inline constexpr std::uint32_t kNoActivity = UINT32_MAX;

// Turns the times of one process into those of the job.
struct TimeAxis {
  double offset_ns = 0;
  double rate = 1;
  double of(double ns) const { return offset_ns + rate * ns; }
  Window back(const Window& window) const {
    return {(window.begin_ns - offset_ns) / rate, (window.end_ns - offset_ns) / rate};
  }
};

// Of a process whose host's clock is `clock`; `base_ns` is zero of the axis, on the reference host.
TimeAxis axis_of(const Timeline& timeline, const HostClock& clock, std::uint64_t base_ns);

void put_on(const TimeAxis& axis, HostCalls& host);

struct CallNumber {
  std::int32_t thread = -1;
  std::int32_t call = -1;
};

struct ActivityNode {
  double begin_ns = 0;
  double end_ns = 0;
  double lag_ns = 0;   // from the begin of the launch call until the GPU could have begun
  double rest_ns = 0;  // from the last of all that it waited for to its begin
  CallNumber launch;
  CallNumber callback;                     // that its stream stood still for until it began, in rest_ns
  std::uint32_t before = kNoActivity;      // on its stream
  std::uint32_t from_other = kNoActivity;  // on another stream, whose end let it begin
  bool collective = false;
  bool unknown = false;          // from its begin to its end the GPU may have been busy or not
  float error_ns = 0;            // by which it may have ended later
  bool blocks = false;           // a copy that its launch call waited for, as those of pageable memory
  float pinned_ns = 0;           // how long that would take from pinned memory
  bool launched_before = false;  // the window began, so its launch is nothing to wait for in there
  bool joined = false;           // other ranks' part in this collective is known
  bool elsewhere = false;        // ranks take part in it that the run has no trace of
  std::uint16_t waits = 0;       // operations in which it waits for other ranks: from here on in PathGraph::waits
  std::uint32_t first_wait = 0;
};

struct PathGraph {
  HostCalls host;
  std::vector<ActivityNode> nodes;     // by begin
  std::vector<std::uint32_t> numbers;  // of each in DeviceTimeline::activities; they rise
  // Per thread and call that waits for the GPU, blocking copies among them; kNoActivity where none ended it.
  std::vector<std::vector<std::uint32_t>> sync_activities;
  // The same of calls that found it done: what they would have waited for. Empty: nobody knows.
  std::vector<std::vector<std::uint32_t>> done_activities;
  std::vector<std::uint32_t> waits;  // in JobGraph::operations
  std::size_t without_launch = 0;    // activities whose launch call has no record
  std::int32_t main = -1;            // the thread that launched most
  // As HostCalls::collections, of each of a data loader's workers (loader_batches.h).
  std::vector<std::vector<Window>> worker_collections;

  std::uint32_t done_before(std::int32_t thread, std::size_t call) const {
    const auto number = static_cast<std::size_t>(thread);  // those of other processes come behind
    return number < done_activities.size() ? done_activities[number][call] : kNoActivity;
  }
  const HostCall& call(const CallNumber& number) const {
    return host.threads[static_cast<std::size_t>(number.thread)].calls[static_cast<std::size_t>(number.call)];
  }
  const std::vector<Window>& collections_of(const HostThread& thread) const {
    return thread.process == 0 ? host.collections : worker_collections[thread.process - 1];
  }
  // False: activities, or the records of their launches, are missing.
  bool is_whole() const;
  std::uint32_t node_of(std::uint32_t activity) const;  // kNoActivity: not in it
};

// What ran in the windows, which follow each other; times of the graph are on the axis.
PathGraph make_path_graph(const Timeline& timeline, const DeviceTimeline& device, const std::vector<Window>& windows,
                          const TimeAxis& axis = {});

}  // namespace hostprobe::analysis
