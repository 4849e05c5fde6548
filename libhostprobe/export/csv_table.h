// csv_table.h: a run as a table of events (CSV): launches, synchronisations, waits and collectives, one a line.
//
// Room 3. Line by line, whatever the size of the run. What of the calls are only counters is a line for each counter, so
// that `import --csv` makes the same run of it.
#pragma once

#include <string>
#include <vector>

#include "trace/jobs.h"

#include "dump.h"
#include "exported_run.h"

namespace hostprobe::analysis {

// Returns what could not be read, one line each.
std::vector<std::string> export_csv(const ChosenJob& run, const Sink& sink, const ExportProgress& progress = {});

}  // namespace hostprobe::analysis
