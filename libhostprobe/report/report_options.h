// report_options.h: how much of a run a report shows.
//
// Room 3.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "answer/run.h"

namespace hostprobe::analysis {

struct ReportOptions {
  bool all = false;                      // every site, thread and process, not only the heaviest
  std::optional<int> rank = {};          // of the processes only those of this rank
  std::vector<std::string> tables = {};  // these alone, by their names (text/tables.h); of text
  std::size_t width = 100;               // columns of text

  bool shows(const ProcessAnswer& process) const { return !rank || process.rank == rank; }
};

}  // namespace hostprobe::analysis
