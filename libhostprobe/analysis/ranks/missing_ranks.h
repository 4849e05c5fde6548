// missing_ranks.h: in a job that runs or was killed: which ranks have not entered a collective that others wait in.
//
// Room 3. NCCL's calls return at once, so a hang shows nowhere in the calls themselves: it shows as a rank whose running
// number on a communicator stays behind the others'.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "answer/run.h"
#include "process_work.h"

namespace hostprobe::analysis {

// Longest first. Only what has lasted for a second: in a job that was killed in the middle of a step some rank is always
// behind.
std::vector<StuckCollective> find_missing_ranks(const std::vector<ProcessAnswer>& processes, const ProcessWorks& works);

}  // namespace hostprobe::analysis
