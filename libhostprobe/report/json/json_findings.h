// json_findings.h: what costs the run time, and the collectives in which it hangs, for the JSON document.
//
// Room 3.
#pragma once

#include "answer/run.h"
#include "report/json_numbers.h"

namespace hostprobe::analysis {

// Numbers and names, without sentences.
Json evidence_json(const Evidence& evidence);

Json findings_json(const RunAnswer& run);
Json stuck_json(const StuckCollective& stuck);

}  // namespace hostprobe::analysis
