// advice_text.h: what to do about a finding, in words.
//
// Room 3. Parts of sentences, without a full stop.
#pragma once

#include <string>

#include "answer/finding.h"

namespace hostprobe::analysis {

// Of its fix; "" where nothing is known to help.
std::string fix_text(const Finding& finding);

// Of its cause where no fix is known, by the row of causes.def; "": none.
const char* usual_advice(Cause cause);

// Of a wait for a DataLoader: what its workers show. "More" only where those that are there have no time left.
std::string loader_advice(const Evidence& evidence);

// Of threads that lack a CPU: who has it, and what helps; "": nothing shows it.
std::string supply_advice(const Finding& finding);

// "thread 77 (Prefetcher._fill)", that another one waits for; "": none is known.
std::string holder_text(const Evidence& evidence);

}  // namespace hostprobe::analysis
