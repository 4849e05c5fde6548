// descriptor_name.h: what a descriptor is that a thread waited for: a file's path, a socket's other end.
//
// Room 2 (probe/). On the program's threads, after a wait that was long enough for a stack, so some system calls more do not
// count. Each descriptor is asked once as long as it stands for the same thing.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

// A string's id; 0: the wait was short, HOSTPROBE_REDACT is 1, the descriptor is none, or too many have a name already.
//   "/data/train.bin" · "pipe:[4711]" · "tcp 10.0.0.2:5000 from 10.0.0.1:41234" · "unix /run/x.sock process 12" · "tcp from 0.0.0.0:80"
// (nobody at the other end: it listens). May change errno.
std::uint32_t descriptor_name(int descriptor, std::uint64_t waited_ticks);

}  // namespace hostprobe::probe
