// say.h: the probe's only voice: "hostprobe[pid]: what, why, what to do" on standard error.
//
// Room 2 (probe/). Never called on the hot path. Stack buffer and write(2) only, errno kept, at most 16 lines a process.
// Descriptor 2 is used only while it still is the file it was at start: a daemon that closed everything may have a data
// file of its own there.
#pragma once

#include <sys/uio.h>

namespace hostprobe::probe {

void remember_stderr();
void say(const char* format, ...) __attribute__((format(printf, 1, 2)));
// What say() does last: whatever standard error is, the program gets no signal and does not wait.
void write_to_stderr(const iovec* parts, unsigned count);

}  // namespace hostprobe::probe
