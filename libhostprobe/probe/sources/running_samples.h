// running_samples.h: what the program's threads do while they run, found by looking, HOSTPROBE_SAMPLES times a second and thread.
//
// Room 2 (probe/). The writer thread, in modes trace and flight, until detail has to be shed. Python frames are read at moments of its own
// choice, at random, of threads that are running then (stacks/python_frames.h); the code they are in comes from the kernel (code_samples.h).
// Threads that use CPU are looked at (watched_threads.h). Of one that is blocked where we know of no wait
// it is kept where. Nothing is sent to the program and none of its threads is stopped.
#pragma once

#include "probe/sources/source.h"

namespace hostprobe::probe {

// Looks when it is time to; kNever where frames cannot be read.
std::uint64_t look_at_running(const Round& round);
// Which threads to look at from now on, and what came since into the file, where it is to go there.
void note_running_samples(const Round& round);

}  // namespace hostprobe::probe
