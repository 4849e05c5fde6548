// table_trace.h: the trace files of a table of events (CSV), one for each process in it.
//
// Room 3. Line by line; of each thread a few thousand records are held. Tables of eBPF tracers have only the first columns:
// times count from their own beginning, a launch has no duration, and a synchronise is two lines.
#pragma once

#include <string>
#include <vector>

#include "import/input/left_out.h"
#include "import/input/text_file.h"

namespace hostprobe::analysis {

struct TableReading {
  std::vector<std::string> traces;
  std::string problem;
};

// Throws std::system_error when the table cannot be opened or a trace not be written.
TableReading import_table(const std::string& path, const std::string& run, LeftOut& left_out,
                          const ReadProgress& progress = {});

}  // namespace hostprobe::analysis
