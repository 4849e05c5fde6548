// diff_json.h: what changed between two runs, as one JSON document.
//
// Room 3. A pure function of the comparison.
#pragma once

#include <string>

#include "answer/diff.h"
#include "answer/run.h"
#include "report/json_value.h"

namespace hostprobe::analysis {

JsonValue diff_document(const RunDiff& diff, const RunAnswer& a, const RunAnswer& b);
std::string diff_json(const RunDiff& diff, const RunAnswer& a, const RunAnswer& b);

}  // namespace hostprobe::analysis
