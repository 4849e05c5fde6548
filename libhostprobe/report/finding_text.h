// finding_text.h: a finding in words, and the headline that is made of the heaviest ones.
//
// Room 3. For the text report and for what people read in the JSON document; scripts read ids and numbers.
#pragma once

#include <string>
#include <vector>

#include "answer/finding.h"
#include "answer/run.h"

namespace hostprobe::analysis {

// One sentence.
std::string finding_text(const Finding& finding);

// What to do about it; "" where nothing is known to help.
std::string fix_text(const Finding& finding);
// "thread 77 (Prefetcher._fill)", that another one waits for; "": none is known.
std::string holder_text(const Evidence& evidence);
// Of a process that somebody stopped: how to find who.
std::string stop_advice();
// Of a wait for a DataLoader: what its workers show.
std::string loader_advice(const Evidence& evidence);

// At most three sentences that say what to do now. When nothing is wrong it says so.
std::vector<std::string> headline(const RunAnswer& run, const std::vector<Finding>& findings);

}  // namespace hostprobe::analysis
