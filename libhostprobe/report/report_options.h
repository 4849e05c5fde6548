// report_options.h: how much of a run a report shows.
//
// Room 3.
#pragma once

#include <optional>

#include "answer/run.h"

namespace hostprobe::analysis {

struct ReportOptions {
  bool all = false;              // every site, thread and process, not only the heaviest
  std::optional<int> rank = {};  // of the processes only those of this rank

  bool shows(const ProcessAnswer& process) const { return !rank || process.rank == rank; }
};

}  // namespace hostprobe::analysis
