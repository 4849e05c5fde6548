// advice_text.h: why a finding is there, as far as that is known, and what to do about it, in words.
//
// Room 3. Parts of sentences, without a capital letter and a full stop.
#pragma once

#include <string>

#include "answer/finding.h"

namespace hostprobe::analysis {

struct Advice {
  std::string because;  // what was seen; "" = nothing beyond the finding itself
  std::string todo;     // what to change; "" = nothing is known to help
};

// Of its fix; "" where nothing is known to help.
std::string fix_text(const Finding& finding);

// Of its cause where no fix is known, by the row of causes.def; "": none.
const char* usual_advice(Cause cause);

// Of a wait for a DataLoader: what its workers show. "More" only where those that are there have no time left.
Advice loader_advice(const Evidence& evidence);

// Of threads that lack a CPU: who has it, and what helps; empty: the evidence does not show it.
Advice supply_advice(const Finding& finding);

// Of threads that may use fewer CPUs than others; empty: none is known to.
Advice mask_advice(const Finding& finding);

// Of CPUs that are short because threads of a pool wait for each other on them; empty: they do not.
Advice pool_advice(const Finding& finding);

// How often, and how long.
std::string garbage_text(const Evidence& evidence);

// "Prefetcher._fill (thread 77)", that another one waits for; "": none is known.
std::string holder_text(const Evidence& evidence);
// The same, and what it runs.
std::string busy_holder_text(const Evidence& evidence);

}  // namespace hostprobe::analysis
