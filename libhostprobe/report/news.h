// news.h: what happened to the job, in words: ranks without a trace, processes that died, restarts, and what threads have been in for long.
//
// Room 3. Stands before all findings: what does not run, or not any more, has no other cause worth reading first.
#pragma once

#include <string>
#include <vector>

#include "answer/run.h"

namespace hostprobe::analysis {

std::vector<std::string> news(const RunAnswer& run);

// "killed by SIGKILL", "exited with status 3"; what is known of an end that was none of a program's own.
std::string end_text(const ProcessAnswer& process);

}  // namespace hostprobe::analysis
