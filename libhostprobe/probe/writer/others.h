// others.h: whether anybody but hostprobe's own thread is left in this process.
//
// Room 2 (probe/). A thread that ends by an instruction of its own tells nobody. Once all of the program's have ended, the process
// ends when its last thread does, which is then the writer; and its status is that of its last thread.
#pragma once

namespace hostprobe::probe {

// Writer thread. The main thread has ended and there is no other one but the caller: one stat(), and a second look at /proc where
// two are left. False where /proc cannot tell.
bool all_others_ended();

// Returns unless that was found. Then it ends the calling thread with the main thread's status: the one of whichever thread of the
// program ended last is gone with it.
void end_if_last();

}  // namespace hostprobe::probe
