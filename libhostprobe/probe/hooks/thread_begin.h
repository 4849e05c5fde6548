// thread_begin.h: what a fix does on each thread that the program makes, before the thread's own code.
//
// Room 2 (probe/). One load for each new thread; no fix: nothing.
#pragma once

#include <atomic>

namespace hostprobe::probe {

extern std::atomic<void (*)()> g_thread_begins;

}  // namespace hostprobe::probe
