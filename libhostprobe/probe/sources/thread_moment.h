// thread_moment.h: what a watched thread does at this moment: it runs, waits where a record will say so, or is blocked somewhere else.
//
// Room 2 (probe/). The writer thread. Nothing stops the thread meanwhile.
#pragma once

#include "probe/sources/watched_threads.h"

namespace hostprobe::probe {

// In a wait that a record will tell of. A write leaves one only where it went to a file.
bool is_in_wait(const ThreadEntry& entry);

// Asked before its frames are read: one that waits by then was running all the same, and to leave it out would leave out what comes
// before waits. `cpu_ns`, its CPU time, is brought up to date.
bool is_running(Watched& one, std::uint64_t& cpu_ns);

// Not by the program's leave: a page of a mapped file is not there, or a system call that has no hook waits. The kernel says where it is to go on,
// and whether it is in a call: "-1" and the stack pointer and place, or the call's number with six arguments and these two; of one that runs "running".
bool blocked_place(std::uint32_t tid, std::uint16_t& call, std::uint64_t& address);

}  // namespace hostprobe::probe
