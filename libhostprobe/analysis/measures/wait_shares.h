// wait_shares.h: waits that have not returned as rows among the others, and each row's share of its threads' lives, where
// each instant counts once: time on the CPU and delay behind a wake are not the wait's own.
//
// Room 3.
#pragma once

#include "answer/process.h"

namespace hostprobe::analysis {

// What threads are in now, or were in when the trace ended.
void add_open_waits(ProcessAnswer& process);

void share_out_waits(ProcessAnswer& process);

}  // namespace hostprobe::analysis
