// thread.h: the life of a thread as far as it is recorded: its entry in the segment, and its end.
//
// Room 2 (probe/). Cold. What every hook touches of a thread is in thread_local.h.
#pragma once

#include "probe/record/thread_local.h"

namespace hostprobe::probe {

// Gives the calling thread a ThreadEntry if it has none. False: there is none free, or nothing is recorded.
bool attach_thread();

// Takes an entry for a thread about to be created; nullptr: none free.
ThreadEntry* reserve_thread(std::uint32_t& index);
void release_thread(ThreadEntry* entry);
// Makes a reserved entry the calling thread's own.
void adopt_thread(ThreadEntry* entry, std::uint32_t index);

// The pthread key whose destructor ends the trace of a thread. Made once, before main.
void make_thread_key();
// Makes it run for the calling thread.
void watch_thread_end();

// The wait in `entry` is one that the thread jumped out of: nobody will end it. The thread runs in no signal handler.
void close_left_wait(ThreadLocal& t);

// After fork, in the child: forget everything that belongs to the parent. What a signal handler that forks has interrupted
// goes on in the child too, and takes back its reservations and its waits.
void reset_thread_local();

}  // namespace hostprobe::probe
