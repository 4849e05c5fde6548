// verdict_text.h: the verdict on a run in words, and the headline that is made of what happened and of the heaviest findings.
//
// Room 3.
#pragma once

#include <string>
#include <vector>

#include "answer/run.h"
#include "answer/verdict.h"
#include "json_numbers.h"

namespace hostprobe::analysis {

// A sentence or two: what was found, that nothing was, or why nothing can be said.
std::string verdict_why(const RunAnswer& run, const Verdict& verdict);

// Why it is not known where the time of the steps went, as part of a sentence; "": it is.
const char* unknown_steps_text(const RunAnswer& run);

// `verdict` of documents: word, severity, why.
Json verdict_json(const RunAnswer& run);

// At most three sentences that say what to do now. When nothing is wrong it says so.
std::vector<std::string> headline(const RunAnswer& run);

}  // namespace hostprobe::analysis
