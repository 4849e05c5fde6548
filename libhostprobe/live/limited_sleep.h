// limited_sleep.h: a thread that sleeps in a system call with a time limit which a stop would make begin anew.
//
// Room 3. The kernel ends such a call with EINTR when its thread is stopped, and nobody can say how much of the limit is
// left when it is made again. Such a thread is not stopped: it does not move while it sleeps, and /proc says where it is.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>
#include <optional>
#include <string>

namespace hostprobe::analysis {

// Equal twice: it slept in the same call all the time in between.
struct LimitedSleep {
  std::string call;            // number, arguments, stack pointer and instruction, as /proc has them
  std::uint64_t switches = 0;  // how often the thread has been put on a CPU or taken off it

  bool operator==(const LimitedSleep&) const = default;
  // Only the stack pointer and the pc are known.
  user_regs_struct registers() const;
};

// Nothing where it does not sleep, sleeps in another call, or we may not look.
std::optional<LimitedSleep> limited_sleep_of(pid_t pid, pid_t tid);

// The calls that the kernel ends with EINTR when their thread is stopped, though no handler ran; all have then done nothing.
bool is_ended_by_a_stop(long call);

}  // namespace hostprobe::analysis
