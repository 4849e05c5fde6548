// running_samples.h: what the program's threads do while they run, found by looking, HOSTPROBE_SAMPLES times a second and thread.
//
// Room 2 (probe/). The writer thread, in modes trace and flight, until detail has to be shed. Python frames are read at moments of its own
// choice, at random, of threads that are running then (stacks/python_frames.h); the code they are in comes from the kernel (code_samples.h).
// Threads that use CPU are looked at: the main thread first, then those that use most. Of one that is blocked where we know of no wait
// it is kept where. Nothing is sent to the program and none of its threads is stopped.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

inline constexpr unsigned kWatchedThreads = 16;
// Of those that used CPU in the last quarter of a second, heaviest first, but the main one before all: the id of one. 0: there are not so many.
std::uint32_t watched_thread(unsigned number);

// Looks when it is time to, here and at the queues of launches (sampling.h); returns until when the writer may sleep, as far as this goes.
std::uint64_t take_samples(std::uint64_t now_ns);

// Four times a second: which threads to look at from now on, and what came since into the file, where it is to go there.
void write_running_samples(bool last);

}  // namespace hostprobe::probe
