// step_inputs.h: which of the things that threads make for each other are input of the step.
//
// Room 3. What goes to the GPU next, by a copy from the host, is the step's input, whoever made it. Where a thread takes several
// things before that copy, it is the last one: a take that did not block shows by whom it let go on making. Where it
// shows by nothing, the maker of the last thing is the one whose late takes the copy follows at once.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analysis/graph/path_graph.h"

namespace hostprobe::analysis {

// Whether the next launch behind the call copies to the GPU.
bool is_copied_next(const HostThread& thread, const HostCall& call);

class StepInputs {
 public:
  explicit StepInputs(const PathGraph& graph);

  // Of what `waker` makes for that thread: as most of its waits for it say. False: it never waited for it.
  bool has(std::int32_t waiter, std::int32_t waker) const;

 private:
  std::map<std::pair<std::int32_t, std::int32_t>, bool> is_input_;
};

}  // namespace hostprobe::analysis
