// verdict.h: what HOSTPROBE_VERBOSE=1 says of this process: that it records, or why not. One line.
//
// Room 2 (probe/). Nothing without that setting.
#pragma once

namespace hostprobe::probe {

// In the constructor, where no function of libc may be called yet.
void say_off();
void say_never(const char* program);
// Once there is a file.
void say_recording();
// At the exit of a process that could have recorded.
void say_never_began(bool is_target);

}  // namespace hostprobe::probe
