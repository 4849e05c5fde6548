// text.h: the report for people. Its first screen answers "what do I do now": losses first, then the headline,
// then the tables it was drawn from.
//
// Room 3. At most 100 columns wide.
#pragma once

#include <string>

#include "analysis/questions/run_answer.h"

namespace hostprobe::analysis {

struct TextOptions {
  bool all = false;  // every site, thread and process, not only the heaviest
};

std::string report_text(const RunAnswer& run, const TextOptions& options);

}  // namespace hostprobe::analysis
