// last_thread.h: a process whose main thread left by pthread_exit ends when its last thread ends.
//
// Room 2 (probe/). glibc counts threads for that, and would count our writer: such a program would never end. So every
// ending thread, once the main thread has left, looks whether only the writer and other ending threads remain, and then
// sends the writer away; glibc does the rest, on the program's thread, as without us.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

// True when this process has no threads but the caller, the writer and those that are about to end.
bool alone_with_writer();
// The same where there may be no writer.
bool is_last_thread();

}  // namespace hostprobe::probe
