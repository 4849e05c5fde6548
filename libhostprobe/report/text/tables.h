// tables.h: what a report shows of a run where a reader asks for it: `hostprobe report RUN waits`.
//
// Room 3. One list, which also makes the long report, the help and the answer to a name that is none.
#pragma once

#include <string>
#include <vector>

#include "report/report_options.h"

namespace hostprobe::analysis {

struct NamedTable {
  const char* name;
  const char* meaning;
  const char* nothing;                                                      // what is said where there is none of it
  std::string (*text)(const RunAnswer& run, const ReportOptions& options);  // "": nothing
};

const std::vector<NamedTable>& named_tables();

}  // namespace hostprobe::analysis
