// stack_limits.cpp: see stack_limits.h. Asks nobody but the kernel: libc's answer allocates and reads files.
#include "probe/runtime/stack_limits.h"

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

// Each page of the room is there. Below a thread's stack lies a page that cannot be read.
bool room_is_mapped(std::uint64_t here) {
  char bytes[kPieces];
  Piece pieces[kPieces];
  static_assert(kPieces * kPageBytes == kStackRoom);
  for (unsigned i = 0; i < kPieces; ++i) pieces[i] = {&bytes[i], here - (i + 1) * kPageBytes, 1};
  return Memory().copy(pieces, kPieces) == kPieces;
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
