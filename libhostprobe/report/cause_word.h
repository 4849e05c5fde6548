// cause_word.h: what people read for a cause. Scripts read its id (answer/cause.h).
//
// Room 3.
#pragma once

#include "answer/cause.h"
#include "answer/run.h"

namespace hostprobe::analysis {

// A job that uses no GPU is bound by none: what is `gpu_bound` there is the program's own work.
inline const char* cause_word(const RunAnswer& run, Cause cause) {
  return cause == Cause::kGpuBound && !run.uses_gpu() ? "compute" : cause_id(cause);
}

}  // namespace hostprobe::analysis
