// answered_run.h: the answer about a run folder or a trace file, for the commands that show a part of it.
//
// Room 4.
#pragma once

#include <string>

#include "analysis/run_answer.h"
#include "cli/job_option.h"

namespace hostprobe::cli {

// Throws where no trace of it can be read. Tells its progress on stderr.
analysis::RunAnswer answered_run(const std::string& path, const JobNumber& job, unsigned memory_mb);

}  // namespace hostprobe::cli
