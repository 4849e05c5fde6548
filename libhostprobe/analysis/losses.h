// losses.h: what is missing from a run, in sentences: records that were lost, files that were damaged.
//
// Room 3. Printed before anything else, because every number after it is drawn from what was kept.
#pragma once

#include <string>
#include <vector>

namespace hostprobe::analysis {

struct RunAnswer;

// Empty when nothing is missing.
std::vector<std::string> loss_sentences(const RunAnswer& run);

}  // namespace hostprobe::analysis
