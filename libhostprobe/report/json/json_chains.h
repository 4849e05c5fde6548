// json_chains.h: who made the main thread wait, and what that thread did meanwhile, as JSON.
//
// Room 3.
#pragma once

#include "answer/wait.h"
#include "report/json_numbers.h"

namespace hostprobe::analysis {

// {"comm", "pid"}, or {"interrupt"}: then nobody woke it.
Json waker_json(const KernelWaker& waker);
Json chain_json(const WakeChain& chain);

}  // namespace hostprobe::analysis
