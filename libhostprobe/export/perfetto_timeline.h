// perfetto_timeline.h: a run in Perfetto's own form: what the timeline of chrome_timeline.h has, and the scheduler's tracks.
//
// Room 3. Written packet by packet. Times are CLOCK_MONOTONIC, which Perfetto is told to be its clock.
#pragma once

#include <string>
#include <vector>

#include "trace/jobs.h"

#include "dump.h"
#include "exported_run.h"

namespace hostprobe::analysis {

// Returns what could not be read or has no place, one line each.
std::vector<std::string> export_perfetto(const ChosenJob& run, const Sink& sink, const ExportProgress& progress = {});

}  // namespace hostprobe::analysis
