// job_folder.h: where a job records that was started with the preload alone, without HOSTPROBE_OUT: in a sub-folder of its own.
//
// Room 2 (probe/). When a process begins to record. All processes of a job must come to the same folder, and two jobs to two, by
// what the kernel says of them, because nobody hands anything on. A job is what was started by its first process with the
// preload; its folder is hostprobe-run/<UTC of that start>-<its process id>-<its start since boot>.
#pragma once

namespace hostprobe::probe {

// Sets g_options.out. Children that are forked later have it from their parent.
void choose_job_folder();

// One process of such a job says at its end where the folder is: its first one, or rank 0.
void say_job_folder();

}  // namespace hostprobe::probe
