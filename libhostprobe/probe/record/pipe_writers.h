// pipe_writers.h: which thread of this process wrote what another one waited for in a pipe or an eventfd.
//
// Room 2 (probe/). Whoever writes leaves its id and the time at the descriptor's number, before the real call: one store. Who has waited
// long for a pipe looks for the number behind which that pipe is as well, among those written to meanwhile. Descriptors from kMostWritten
// on, and the two ends of a socket, whose other number nobody tells, are not looked at.
#pragma once

#include <atomic>
#include <cstdint>

#include "probe/record/thread_local.h"
#include "probe/runtime/compiler.h"
#include "probe/runtime/of_process.h"

namespace hostprobe::probe {

inline constexpr unsigned kMostWritten = 1024;
// A post from before a wait began is none, so a child may keep its parent's.
extern HP_KEPT_BY_CHILDREN constinit std::atomic<std::uint64_t> g_written[kMostWritten];

inline void note_write(int descriptor, std::uint64_t ticks) {
  const auto number = static_cast<unsigned>(descriptor);
  if (HP_LIKELY(number < kMostWritten))
    g_written[number].store(pack_post(t_local.tid, ticks), std::memory_order_release);
}

// The post that ended a wait for the descriptor between the two times; 0: none is known. Asks by system calls, and may change errno.
std::uint64_t post_by_write(int descriptor, std::uint64_t begin, std::uint64_t end);

}  // namespace hostprobe::probe
