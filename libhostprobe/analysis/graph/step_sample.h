// step_sample.h: some of many steps, evenly spread over them: of a run that is too large to look at all of it.
//
// Room 3.
#pragma once

#include <cstddef>
#include <vector>

#include "answer/window.h"

namespace hostprobe::analysis {

// Of so many things at most `most`: the middle one of each of as many equal parts. All where there are no more.
std::vector<std::size_t> spread_over(std::size_t all, std::size_t most);

// How many of the steps hold at most `most_events` of the `events` of all the time from the first to the last.
std::size_t steps_that_fit(const std::vector<Window>& steps, std::size_t events, std::size_t most_events);

// Steps that are run again with something left out: what that would gain is known well enough from so many.
inline constexpr std::size_t kMostReplayed = 60;

// Steps that follow each other: what one of them gains may show in the next ones, as where a thread makes ahead what they take.
struct StepBlock {
  std::size_t first = 0, count = 0;
  std::size_t warm = 0;  // so many of the first are not counted: they take what was made before
};

// All of them, in blocks of about a dozen.
std::vector<StepBlock> step_blocks(const std::vector<Window>& steps);

}  // namespace hostprobe::analysis
