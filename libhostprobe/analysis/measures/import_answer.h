// import_answer.h: what is missing in a process's trace that was made of another tool's file.
//
// Room 3. Who read that file has put it into the trace. Of a file that was read in part, whatever is said because something is not there
// may be wrong: it may stand in the rest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "answer/process.h"

namespace hostprobe::analysis {

// Nothing: nothing is missing.
std::optional<ImportAnswer> answer_import(const std::vector<ActionAnswer>& actions);

// That the GPU had nothing to do is not known where its work may stand in the rest of the file.
void forget_what_may_be_missing(ProcessAnswer& process);

}  // namespace hostprobe::analysis
