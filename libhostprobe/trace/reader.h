// reader.h: one trace file becomes one Trace.
//
// Room 3. The only place that knows how a file is laid out (recover.cpp appends to one, with the same structs). Damage
// is expected: whatever is whole is read, the rest stands in Trace::damages with its offset.
#pragma once

#include <string>
#include <vector>

#include "trace.h"

namespace hostprobe::analysis {

// Throws TraceError when nothing can be read: a foreign or newer file, nothing whole in it, no way to tell the time; and
// std::system_error when the file cannot be opened.
// Out of `budget` it holds what would have to be expanded again each time the records are walked.
Trace read_trace(const std::string& path, MemoryBudget* budget = nullptr);
// The same of a file that is open already: `opened_as` is what it is opened by again.
Trace read_trace(const std::string& path, const std::string& opened_as);

// The same, but never looks for shared memory or at live processes: what stands in the file and nothing else.
Trace read_trace_file_only(const std::string& path);

// All *.hptrace in a run folder, sorted; or the path itself when it is a file. Throws std::system_error when there is
// nothing at that path.
std::vector<std::string> trace_paths(const std::string& run);

}  // namespace hostprobe::analysis
