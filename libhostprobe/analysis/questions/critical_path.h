// critical_path.h: the chain of calls and kernels that decided how long a process took, and what would be gained without a part.
//
// Room 3. Exact activities of the GPU are needed (activity.h), and the records of the threads that launched them. One
// process: what other ranks did shows only as the length of collectives. docs/critical-path.md defines it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/timeline/activity.h"
#include "analysis/timeline/timeline.h"
#include "analysis/timeline/window.h"

namespace hostprobe::analysis {

enum class PathClass : std::uint8_t { kCpu, kGpuCompute, kCommunication, kLaunch };
inline constexpr std::size_t kPathClasses = 4;
const char* path_class_name(PathClass one);  // as in the contract

struct PathAnswer {
  double length_ns = 0;                           // of the windows together
  std::array<double, kPathClasses> share_ns{};    // together the length
  std::array<double, kPathClasses> without_ns{};  // how long it takes when nothing of that class takes time
  double replayed_ns = 0;                         // the same with nothing changed

  double share_pct(PathClass one) const;
  double drift_pct() const;
  // Of the length; nothing where the replay does not repeat what was recorded.
  std::optional<double> gain_pct(PathClass one) const;
};

// Nothing where activities or the records of launches are missing. Without steps: from the first launch to the end.
std::optional<PathAnswer> answer_critical_path(const Timeline& timeline, const DeviceTimeline& device,
                                               const Window& window, const std::vector<Window>& steps);

}  // namespace hostprobe::analysis
