// stack_limits.cpp: see stack_limits.h. Asks nobody but the kernel: libc's answer allocates and reads files.
#include "probe/runtime/stack_limits.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "probe/runtime/at_start.h"
#include "probe/runtime/safe_memory.h"

namespace hostprobe::probe {

HP_START_DATA const void* g_stack_end = nullptr;

namespace {

bool is_alternate_stack() {
  stack_t now{};
  return system_call(SYS_sigaltstack, 0, word_of_pointer(&now)) != 0 || (now.ss_flags & SS_ONSTACK) != 0;
}

// The kernel reads the mask before it sees that there is no such way to set one, so nothing changes. A tenth of what a copy of four pages costs.
bool may_be_read(std::uint64_t address) {
  constexpr long kNoSuchWay = -1;
  return system_call(SYS_rt_sigprocmask, kNoSuchWay, static_cast<long>(address), 0, sizeof(std::uint64_t)) == -EINVAL;
}

// Each page of the room is there. Below a thread's stack lies a page that cannot be read.
bool room_is_mapped(std::uint64_t here) {
  for (std::uint64_t below = kPageBytes; below <= kStackRoom; below += kPageBytes)
    if (!may_be_read(here - below)) return false;
  return true;
}

// The first thread's stack is mapped as it grows. Nothing else lies so near below its end.
bool may_grow(std::uint64_t here) {
  auto end = reinterpret_cast<std::uint64_t>(g_stack_end);
  constexpr std::uint64_t kNearest = 64 << 20, kArguments = 256 << 10;
  if (here >= end || end - here > kNearest) return false;
  rlimit limit{};
  if (system_call(SYS_getrlimit, RLIMIT_STACK, word_of_pointer(&limit)) != 0) return false;
  return limit.rlim_cur == RLIM_INFINITY || end - here + kStackRoom + kArguments <= limit.rlim_cur;
}

}  // namespace

bool stack_has_room() {
  auto here = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  return !is_alternate_stack() && (room_is_mapped(here) || may_grow(here));
}

}  // namespace hostprobe::probe
