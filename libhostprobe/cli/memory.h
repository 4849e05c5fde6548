// memory.h: how much memory the command takes: that of trace/memory_budget.h, or what --memory-mb says.
//
// Room 4. Every block of a page or more that operator new makes is counted; where there is no room left for one of
// kLeastInFile bytes, it lies in a file without a name (trace/unnamed_file.h). So a run may be larger than the memory,
// whatever the questions hold of it, and no question has to know.
#pragma once

#include <optional>
#include <string>

#include "analysis/run_answer.h"
#include "command.h"

namespace hostprobe::cli {

// --memory-mb of a command that reads runs.
Option memory_option(unsigned& memory_mb);

// From here on no more than that is taken.
analysis::Effort within_memory(unsigned memory_mb);

// Why more was taken all the same; nothing: it was not.
std::optional<std::string> memory_overrun();

}  // namespace hostprobe::cli
