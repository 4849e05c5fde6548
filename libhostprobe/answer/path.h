// path.h: the chain of calls and kernels that decided how long steps took, and what would be gained without a part.
//
// The waist (answer/). analysis/graph/critical_path.h fills it; docs/reference/critical-path.md defines it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace hostprobe::analysis {

enum class PathClass : std::uint8_t { kCpu, kGpuCompute, kCommunication, kLaunch };

inline constexpr std::size_t kPathClasses = 4;

using PathShares = std::array<double, kPathClasses>;

const char* path_class_name(PathClass one);  // as in the contract

struct PathAnswer {
  std::uint64_t stretches = 0;  // that were looked at
  double length_ns = 0;         // of them together
  PathShares share_ns{};        // together the length
  // Of at most kMostReplayed stretches (step_sample.h), which together are `recorded_ns` long:
  double recorded_ns = 0;
  PathShares without_ns{};  // how long they take when nothing of that class takes time
  double replayed_ns = 0;   // the same with nothing changed

  void add(const PathAnswer& other);
  double share_pct(PathClass one) const;
  // Nothing: no stretch was run again.
  std::optional<double> drift_pct() const;
  // Of the length; nothing where the replay does not repeat what was recorded.
  std::optional<double> gain_pct(PathClass one) const;
};

// What of the path lies on one process.
struct RankPath {
  std::optional<int> rank;
  std::uint32_t pid = 0;
  PathShares share_ns{};
};

struct RunPath {
  PathAnswer path;
  std::vector<RankPath> ranks;  // as the members
  std::uint64_t steps = 0;      // that all ranks made; 0: none has a place in time, and the run is looked at as one
  std::uint64_t looked_at = 0;  // of these
};

}  // namespace hostprobe::analysis
