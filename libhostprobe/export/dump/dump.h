// dump.h: every record of a run, one a line, in time order per thread.
//
// Room 3. For scripts and for people who want to see what the reports are made of. Where records are missing a `lost`
// line stands in their place.
#pragma once

#include <string>
#include <vector>

#include "dump_output.h"

namespace hostprobe::analysis {

// With `switches`, behind the records of a thread, when it was off its CPU, where that was recorded.
// Returns what could not be read, one line each.
std::vector<std::string> dump_run(const ChosenJob& chosen, DumpForm form, const Sink& sink, bool switches = false);

}  // namespace hostprobe::analysis
