// late_transfers.h: transfers that take longer than their links need, because the threads that move the data have no CPU.
//
// Room 3. A link takes as long each time. Where NCCL's progress threads were ready to run and on no CPU, what transfers between the
// same ranks take beyond that is their lack of a CPU, as far as the kernel's counts of them reach.
#pragma once

#include <vector>

#include "answer/process.h"
#include "answer/step_time.h"
#include "transfer_times.h"

namespace hostprobe::analysis {

// Takes it from the transfers. What is left without it of the time of each of JobGraph::transfers; empty: none is late by that.
std::vector<double> name_late_transfers(const AllTransferTimes& all, const std::vector<const ProcessAnswer*>& members,
                                        StepTime& time);

}  // namespace hostprobe::analysis
