// process_text.h: the section of one process in the text report.
//
// Room 3.
#pragma once

#include <string>

#include "answer/run.h"

namespace hostprobe::analysis {

enum class Detail {
  kLittle,  // where there are many of them
  kUsual,
  kAll,
};

std::string process_text(const RunAnswer& run, const ProcessAnswer& process, Detail detail);

// The heaviest wait of a process in one phrase, its main thread's first.
std::string heaviest_wait_text(const ProcessAnswer& process);

}  // namespace hostprobe::analysis
