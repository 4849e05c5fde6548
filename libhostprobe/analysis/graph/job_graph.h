// job_graph.h: the path graphs of one or several processes, and the operations of NCCL in which they wait for each other.
//
// Room 3. Of one process alone nothing is joined: what others did then shows as the length of its collectives.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "answer/path.h"
#include "path_graph.h"

namespace hostprobe::analysis {

inline PathClass class_of(const ActivityNode& node) {
  return node.collective ? PathClass::kCommunication : PathClass::kGpuCompute;
}

// An activity of one of the processes.
struct PathPlace {
  std::uint32_t part = 0;
  std::uint32_t activity = kNoActivity;
};

// Collectives, or messages, that move as much between the same ranks.
struct PathTransfer {
  std::uint64_t communicator = 0;
  std::uint64_t between = 0;  // of messages: a number for who sends to whom
  std::string operation;      // "AllReduce"
  std::uint64_t bytes = 0;
  std::int32_t ranks = 0;
};
inline constexpr std::uint32_t kNoTransfer = ~std::uint32_t{0};

// One collective, or a message with both its ends: nobody who waits in it ends before the last one whom others wait for.
struct PathOperation {
  double last_ns = -1e300;               // that one's arrival
  PathPlace last;                        // kNoActivity: outside of what is looked at
  std::vector<PathPlace> arrivals;       // of all whom others wait for, inside of it
  std::uint32_t transfer = kNoTransfer;  // in JobGraph::transfers; of messages, and where all wait for all
  std::int32_t receiver = -1;            // of a message: the part that has all of it when it ends
};

struct JobGraph {
  std::vector<PathGraph> parts;
  std::vector<PathOperation> operations;
  std::vector<PathTransfer> transfers;
  bool joined = false;       // a collective that waits for nobody known is one whose partners are not known
  bool all_are_here = true;  // the job has no other ranks

  const ActivityNode& node(const PathPlace& place) const { return parts[place.part].nodes[place.activity]; }
  // The operation whose last arrival the activity waited for longest; nullptr: it waited for nobody.
  const PathOperation* awaited(const PathPlace& place) const;
};

// Where the part of a process in a stretch ends: on a thread, or with an activity.
struct PathEnd {
  std::uint32_t part = 0;
  std::int32_t thread = 0;
  std::uint32_t activity = kNoActivity;
  double at_ns = 0;
};
using PathEnds = std::vector<PathEnd>;  // the stretch ends with the last of them

}  // namespace hostprobe::analysis
