// dump.h: every record of a run, one a line, in time order per thread.
//
// Room 3. For scripts and for people who want to see what the reports are made of. Where records are missing a `lost`
// line stands in their place.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/jobs.h"

namespace hostprobe::analysis {

using Sink = std::function<void(std::string_view)>;

enum class DumpForm { kText, kJson };

// With `switches`, behind the records of a thread, when it was off its CPU, where that was recorded.
// Returns what could not be read, one line each.
std::vector<std::string> dump_run(const ChosenJob& chosen, DumpForm form, const Sink& sink, bool switches = false);

}  // namespace hostprobe::analysis
