// lost_time_text.h: a finding about the time of the steps, in one sentence.
//
// Room 3.
#pragma once

#include <string>

#include "answer/finding.h"

namespace hostprobe::analysis {

// `who`: "rank 3", "the program", "process 4242", or "the job".
std::string lost_time_text(const Finding& finding, const std::string& who);

}  // namespace hostprobe::analysis
