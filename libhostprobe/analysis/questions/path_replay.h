// path_replay.h: a stretch of a process run once more on its graph, with some classes of time taken out.
//
// Room 3. Waits are results here, not weights: each moment is the latest of what it waited for. Nothing stands at its recorded
// time, so nothing changed gives what was recorded, and taking time out never makes anything later.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "critical_path.h"
#include "path_graph.h"

namespace hostprobe::analysis {

// Where a stretch ends: on a thread, or with an activity.
struct PathEnd {
  std::int32_t thread = 0;
  std::uint32_t activity = kNoActivity;
};

class PathReplay {
 public:
  explicit PathReplay(const PathGraph& graph);

  using Factors = std::array<double, kPathClasses>;  // 1: as it was, 0: takes no time
  // How long it takes from the begin of the window to its end.
  double run(const Window& window, const PathEnd& end, const Factors& factors);

 private:
  struct Item {
    double end_ns;
    std::int32_t thread;  // -1: an activity
    std::uint32_t number;
  };

  double factor(PathClass one) const { return factors_[static_cast<std::size_t>(one)]; }
  double begin_of(std::int32_t thread, std::size_t call) const;
  double time_of(std::int32_t thread, double at_ns) const;
  double end_of(std::uint32_t activity) const;
  void run_call(std::int32_t thread, std::size_t call);
  void run_activity(std::uint32_t number);

  const PathGraph& graph_;
  std::vector<Item> order_;                    // by recorded end
  std::vector<std::vector<double>> call_end_;  // as replayed
  std::vector<double> activity_end_;
  Factors factors_{};
  double begin_ns_ = 0;
  std::int32_t main_ = 0;
};

PathClass class_of(const Activity& activity);

}  // namespace hostprobe::analysis
