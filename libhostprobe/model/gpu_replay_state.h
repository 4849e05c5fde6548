// gpu_replay_state.h: what a replay of GPUs knows of its processes while it runs, and learns from one pass to the next.
//
// Room 3. Of gpu_replay.cpp and gpu_learning.cpp.
#pragma once

#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "gpu_durations.h"
#include "gpu_work.h"
#include "op_times.h"

namespace hostprobe::analysis::replay {

constexpr double kBlockedNs = 5'000;      // a wait of the host's that took so long did wait
constexpr double kUsualReturnNs = 3'000;  // from the end of the last op to the return of the wait for it
constexpr std::size_t kFewestReturns = 5;
constexpr float kUnknownNs = 1e9f;

struct Place {
  std::uint32_t process = 0, stream = 0;
};

// All ranks' parts in one operation.
struct Meeting {
  std::int32_t known = 0, size = 0;  // ranks
  std::int32_t to_come = 0;          // whom others wait for, in this replay
  std::int32_t arrivals = 0;         // of all
  double last_ns = -1e300;
  float error_ns = 0;
  double timed_ns = std::numeric_limits<double>::quiet_NaN();  // its end, as the event of a rank tells it
  std::vector<Place> waiting;

  bool is_known() const { return size > 0 && known >= size; }
};

// What one process's ops are known by, beside their kinds.
struct Process {
  const GpuWork* work = nullptr;
  GpuDurations durations;
  OpTimes times;
  std::vector<char> done;
  std::vector<std::uint32_t> meetings;               // by number in GpuWork::parts
  std::vector<float> scale;                          // by op; empty: 1
  std::unordered_map<std::uint32_t, double> heard;   // ops that waits have told of in this correction: by how much
  std::unordered_map<std::uint32_t, double> pinned;  // ends that waits of the host's tell
  std::unordered_map<std::uint32_t, double>
      waits;  // of a collective with ranks that nobody saw, and of a callback: how much longer
  std::unordered_map<std::uint32_t, std::vector<Place>> waiting;  // streams, for an op
  std::vector<std::size_t> next;                                  // of each stream
  std::vector<std::uint32_t> last;                                // of each stream, that has run
  std::vector<char> arrived;                                      // of each stream: its next op has told others

  explicit Process(const GpuWork& one) : work(&one), durations(one) {}
};

struct State {
  std::vector<Process> processes;
  std::vector<Meeting> meetings;
};

}  // namespace hostprobe::analysis::replay
