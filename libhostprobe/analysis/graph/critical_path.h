// critical_path.h: the chain of calls and kernels that decided how long something took, and what would be gained without a part.
//
// Room 3. Exact activities of the GPU are needed (activity.h), and the records of the threads that launched them. Here of one
// process: what other ranks did shows only as the length of collectives. run_path.h has it for the job.
// docs/reference/critical-path.md defines it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "answer/path.h"
#include "job_graph.h"

namespace hostprobe::analysis {

class PathReplay;

// One stretch of time that ends somewhere.
struct PathStretch {
  PathAnswer path;
  std::vector<PathShares> share_ns;  // of the parts of the graph
  bool known = true;                 // false: it meets a collective of which other ranks' part is not known
};
// `replay`: nullptr where it is not run again.
PathStretch answer_stretch(const JobGraph& job, PathReplay* replay, double begin_ns, const PathEnds& ends);

// From the first launch of all processes to the last of their calls and activities.
PathStretch answer_all(const JobGraph& job, PathReplay& replay);

inline constexpr std::size_t kMostProcessEvents = 1'000'000;  // calls and activities

// Nothing where activities or the records of launches are missing. Without steps: from the first launch to the end. Times of
// `steps` are the process's, and `thread` is the one whose time they are; nullptr: that which launches most. Of more calls and
// activities than `most_events` as many steps are looked at as fit.
std::optional<PathAnswer> answer_critical_path(const Timeline& timeline, const DeviceTimeline& device,
                                               const Window& window, const std::vector<Window>& steps,
                                               const Track* thread = nullptr,
                                               std::size_t most_events = kMostProcessEvents);

// The number of a track's thread in a graph of its timeline; -1 = none.
std::int32_t thread_number(const PathGraph& graph, const Track* track);

}  // namespace hostprobe::analysis
