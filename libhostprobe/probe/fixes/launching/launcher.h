// launcher.h: the thread that gives the driver the launches of the queue (launch_queue.h), one after the other.
//
// Room 2 (probe/). Made on a program's thread by the first launch that could be queued, because the driver is called with the
// program's descriptors, which the writer's thread does not have. It stays on one CPU, and polls for a while before it sleeps.
// While it sleeps nobody waits for it: launches go out on the thread that calls for them.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

class LaunchQueue;

enum class Launcher : std::uint32_t {
  kNone,
  kStarting,
  kAwake,   // what is put into the queue now is taken out at once
  kAsleep,  // the queue was empty
  kWoken,   // it soon runs
  kFailed,  // no thread could be made
};

Launcher launcher_state();
// Not in a signal handler. Does nothing where there is one.
void start_launcher(LaunchQueue& queue);
// A system call only while it sleeps and nobody has woken it yet.
void wake_launcher();
// Contexts may be destroyed from now on, and others have their handles. Once the queue was empty.
void forget_context_of_launcher();
// Once the queue is closed and empty.
void dismiss_launcher();

// How many launches it has submitted in this process.
std::uint64_t launches_submitted();
// How many CPUs this process may use.
unsigned usable_cpus();

}  // namespace hostprobe::probe
