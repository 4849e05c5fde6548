// commands.h: the commands of `hostprobe`, one file each.
//
// Room 4. Each makes its table; what its options are set to lives in what its `run` holds. Errors are thrown: main.cpp
// holds the only catch.
#pragma once

#include "command.h"

namespace hostprobe::cli {

Command run_command();
Command report_command();
Command diff_command();
Command explain_command();
Command schema_command();
Command doctor_command();
Command dump_command();
Command export_command();
Command import_command();
Command recover_command();
Command hooks_command();
Command ctl_command();
Command sched_command();
Command stacks_command();
Command top_command();
Command job_command();
Command agent_command();
Command options_command();

// Both show what stands in `whole`, which must outlive them.
Command manual_command(const Command& whole);
Command completion_command(const Command& whole);

}  // namespace hostprobe::cli
