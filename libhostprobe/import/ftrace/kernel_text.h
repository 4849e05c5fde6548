// kernel_text.h: a kernel's trace as text becomes a trace file of the run.
//
// Room 3. Line by line; its rows are held until all are there, because a trace need not be in order.
#pragma once

#include <string>
#include <vector>

#include "import/input/left_out.h"
#include "import/input/text_file.h"
#include "kernel_clock.h"
#include "kernel_table.h"

namespace hostprobe::analysis {

struct KernelReading {
  std::vector<std::string> traces;
  std::string problem;  // why there are none, or why they are not all of it
  std::string note;     // what had to be supposed
};

// `clock` names the trace's clock as its trace_clock file did; "" = not told. Throws std::system_error when the file cannot be
// opened or the trace not be written.
KernelReading import_kernel_text(const std::string& path, const std::string& run, const std::string& clock,
                                 LeftOut& left_out, const ReadProgress& progress = {});

// What was read, on the clock of the run; `source` names the file.
KernelReading write_kernel_table(KernelTable& table, const TraceTimes& times, const std::string& source,
                                 const std::string& run);

}  // namespace hostprobe::analysis
