// stack_limits.h: whether the stack that the calling thread is on has room for more than the program asked of it.
//
// Room 2 (probe/). Two or three system
// calls.
#pragma once

namespace hostprobe::probe {

// What must be free below.
inline constexpr unsigned long kStackRoom = 16 * 1024;

// Where the first thread's stack ends: what the constructor got as the environment lies there.
extern const void* g_stack_end;

// False: it is a signal handler's own, or less than kStackRoom is left, or that is not known. True does not say that it is
// the thread's stack: a coroutine's may lie in the middle of other memory.
bool stack_has_room();

}  // namespace hostprobe::probe
