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

// At most three sentences that say what to do now. When nothing is wrong it says so.
std::vector<std::string> headline(const RunAnswer& run);

}  // namespace hostprobe::analysis
