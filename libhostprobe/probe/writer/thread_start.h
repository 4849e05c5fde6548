// thread_start.h: a thread of our own in somebody else's program.
//
// Room 2 (probe/). On a thread of the program that is in no signal handler, as pthread_create allocates. The new thread has all signals
// blocked and a small stack.
#pragma once

namespace hostprobe::probe {

// Nothing where there is one, or where none was to be had a short time ago. `run` gets the number of the parked file (passed_file.h).
void start_own_thread(void* (*run)(void*));

}  // namespace hostprobe::probe
