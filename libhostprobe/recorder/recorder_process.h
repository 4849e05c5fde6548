// recorder_process.h: what the process that records does from its begin to its end.
//
// Room kernel/.
#pragma once

#include "sched_options.h"

namespace hostprobe::kernel {

struct RecorderPipes {
  int orders;   // 8 bytes: stop, and how often the program was switched; its end: stop as well
  int news;     // lines for whoever started us
  int program;  // 4 bytes: the id of the child that is to be the program
  int go;       // a byte lets it
};

// Nothing is thrown: what goes wrong is told.
void run_recorder(const SchedOptions& options, const RecorderPipes& pipes);

}  // namespace hostprobe::kernel
