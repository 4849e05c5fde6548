// certain_idle.h: time in which the GPU certainly had nothing to do, from records of host calls alone.
//
// Room 3. From the return of a synchronise after which no stream has work left to the next call that gives the GPU work, in
// any thread. A lower bound: what was finished before anybody waited for it is not seen, and of an event nobody knows the
// stream.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/timeline/timeline.h"
#include "analysis/timeline/window.h"

namespace hostprobe::analysis {

struct CertainIdle {
  std::uint64_t spans = 0;
  double ms = 0;
};

// Nothing where records of launches are missing, or there are too many to look at.
std::optional<CertainIdle> answer_certain_idle(const Timeline& timeline, const Window& window);

}  // namespace hostprobe::analysis
