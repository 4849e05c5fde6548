// slow_transfers.h: collectives and messages that move their data slowly once all ranks have come.
//
// Room 3. Slow is what takes clearly longer than the same operation with about as many bytes does on another communicator of the job, or
// between other ranks. Inside a host transfers can be as quick as over its slowest link, at least: what takes twice as long is slow. Where
// there is nothing to compare with, collectives that nothing overlaps are told where they are a large part of the steps.
#pragma once

#include "answer/process.h"
#include "answer/step_time.h"
#include "transfer_times.h"

namespace hostprobe::analysis {

// Takes what they are too long by, or else all of it, from the transfers. What is left without that of the time of each of JobGraph::transfers;
// empty: none is slow, or nobody knows how quick it could be. `have_a_cause`: for a part of them another cause is known.
std::vector<double> name_slow_transfers(const JobGraph& job, const AllTransferTimes& times,
                                        const std::vector<const ProcessAnswer*>& members, bool have_a_cause,
                                        StepTime& time);

}  // namespace hostprobe::analysis
