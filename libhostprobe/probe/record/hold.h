// hold.h: the program's other threads while one of them tries an exec.
//
// Room 2 (probe/). An exec ends them all, and the shared memory with them; by then the file has everything. What they did in
// the moments in between would be lost. So a launch is held before it is made, and a wait before it returns to the program,
// until the exec has failed, or has ended the thread: whatever the program had back was recorded. Never for long.
#pragma once

#include "probe/record/gate.h"

namespace hostprobe::probe {

inline bool is_held() { return __atomic_load_n(&g_gate.recording, __ATOMIC_RELAXED) == kHeld; }

// By a thread that is held; the one whose exec it is goes on. errno is kept.
void await_exec();

// Around an exec, on its thread. False: another thread is at it.
bool hold_others();
void let_others_go();

}  // namespace hostprobe::probe
