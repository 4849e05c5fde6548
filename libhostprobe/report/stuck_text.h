// stuck_text.h: a collective in which ranks wait for others, in words.
//
// Room 3. For both reports.
#pragma once

#include <string>

#include "answer/run.h"

namespace hostprobe::analysis {

std::string stuck_text(const StuckCollective& stuck);

// "waits in pthread_cond_wait of libtorch_cpu.so since 12.0 s", "runs"; "" where there is no trace of its main thread.
std::string doing_text(const MissingRank& missing);

}  // namespace hostprobe::analysis
