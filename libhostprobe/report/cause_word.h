// cause_word.h: what people read for a cause. Scripts read its id (answer/cause.h).
//
// Room 3.
#pragma once

#include <string>

#include "answer/run.h"

namespace hostprobe::analysis {

// A job that uses no GPU is bound by none: what is `gpu_bound` there is the program's own work.
inline std::string cause_word(const RunAnswer& run, const std::string& cause) {
  return cause == "gpu_bound" && !run.uses_gpu() ? "compute" : cause;
}

}  // namespace hostprobe::analysis
