// delay_chain.h: how a delay grows on its way through a job: from the polls of a progress thread to what the other ranks lose.
//
// Room 3. Each link is a distribution over all ranks, and names the rank where it is longest. Links that were not measured are absent;
// which of them follows from which is told by wake_chains.h and causes/, not here.
#pragma once

#include <optional>
#include <vector>

#include "answer/delay.h"
#include "answer/run.h"

namespace hostprobe::analysis {

// In the order of the links. Empty: no collective was seen, so no delay reaches another rank.
std::vector<DelayRow> answer_delay_chain(const RunAnswer& run);

}  // namespace hostprobe::analysis
