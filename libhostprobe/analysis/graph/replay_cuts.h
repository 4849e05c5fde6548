// replay_cuts.h: what a replay leaves out: parts of threads' time, of a rank's work on its GPU, of transfers.
//
// Room 3.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "answer/window.h"
#include "model/search_hint.h"

namespace hostprobe::analysis {

// In a thread's place: what transfers of that part last, and what its streams stand still.
struct HostCall;

inline constexpr std::int32_t kGpuCuts = -1;

class ReplayCuts {
 public:
  // `ns` of the window's time. By begin, of each thread.
  void add(std::uint32_t part, std::int32_t thread, const Window& window, double ns);
  // Of another one, what that has of a part, so many times of it.
  void take(ReplayCuts& from, std::uint32_t part, double share);
  void sort();
  // How much of that time is left out.
  double inside_ns(std::uint32_t part, std::int32_t thread, double begin_ns, double end_ns) const {
    const auto number = static_cast<std::size_t>(thread - kGpuCuts);
    if (part >= parts_.size() || number >= parts_[part].size() || end_ns <= begin_ns) return 0;
    return parts_[part][number].inside_ns(begin_ns, end_ns);
  }

  std::map<std::uint32_t, double> gpu_factors;  // of a part's work on the GPU; 1 where there is none
  double transfer_factor = 1;
  std::vector<double> transfer_factors;  // of JobGraph::transfers, besides; empty: 1
  std::set<const HostCall*> answered;    // waits that find what they wait for
  bool from_pinned = false;              // copies of pageable memory
  bool without_syncs = false;            // the host waits for its GPU only where a step ends

 private:
  struct Cut {
    Window window;
    double ns;
  };
  struct Thread {
    std::vector<Cut> cuts;
    SearchHint last;

    double inside_ns(double begin_ns, double end_ns) const;
  };

  std::vector<std::vector<Thread>> parts_;  // of each its GPU and threads, from kGpuCuts on
};

}  // namespace hostprobe::analysis
