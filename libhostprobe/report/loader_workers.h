// loader_workers.h: what the worker processes of a DataLoader do with their time.
//
// Room 3. For findings of batches that come late: the place where samples are made slowly is in the workers.
#pragma once

#include "advice_text.h"
#include "answer/run.h"

namespace hostprobe::analysis {

// Of the workers of the finding's rank, or of the whole job. Empty: none was recorded, or they mostly wait for the next order.
Advice loader_worker_advice(const RunAnswer& run, const Finding& finding);

}  // namespace hostprobe::analysis
