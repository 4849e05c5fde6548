// process_text.h: the section of one process in the text report, and its parts.
//
// Room 3.
#pragma once

#include <cstddef>
#include <string>

#include "answer/run.h"

namespace hostprobe::analysis {

enum class Detail {
  kLittle,  // where there are many of them
  kUsual,
  kAll,
};

enum class ProcessPart { kLaunches, kPython, kRunning, kRegions, kWaits, kWakes, kProgress, kThreads, kMachine };

// With a title. "": of that part there is nothing.
std::string process_part_text(const RunAnswer& run, const ProcessAnswer& process, ProcessPart part, Detail detail,
                              std::size_t width);

// All of them.
std::string process_text(const RunAnswer& run, const ProcessAnswer& process, Detail detail, std::size_t width);

}  // namespace hostprobe::analysis
