// lost_time_text.h: a finding about the time of the steps, in parts of sentences.
//
// Room 3.
#pragma once

#include <string>

#include "advice_text.h"
#include "answer/finding.h"

namespace hostprobe::analysis {

// "waiting for the next batch in evaluate (train.py:44)": what the time went into, and where.
std::string lost_time_what(const Finding& finding);

// What was seen there, and what to change.
Advice lost_time_advice(const Finding& finding);

}  // namespace hostprobe::analysis
