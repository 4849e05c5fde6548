// limits.h: from how long on a call counts, and as what. All of it in one cache line, which the hot path reads.
//
// Room 2 (probe/). Set before recording begins from a guess of the tick rate, and again whenever the writer knows the rate
// better or sheds detail. In ticks; all ones: never.
#pragma once

#include <cstdint>

#include "probe/runtime/compiler.h"

namespace hostprobe::probe {

struct alignas(64) Limits {
  std::uint64_t polled_ticks;          // a polled call (event and stream queries) shorter than this leaves no record
  std::uint64_t wait_ticks;            // nor does a wait; 0 until the tick rate is known
  std::uint64_t io_ticks;              // from here on a read, write, accept or connect counts as a wait
  std::uint64_t stall_ticks;           // a round of an NCCL progress thread this long leaves a record
  std::uint64_t stack_ticks;           // a wait this long may carry a stack
  std::uint64_t short_stack_ticks;     // and one this long, where the thread has had none for some time
  std::uint64_t stack_interval_ticks;  // at most one stack per thread and this long
  std::uint64_t flight_ticks;          // how much mode flight keeps
};
extern HP_OURS constinit Limits g_limits;
inline constexpr std::uint64_t kNever = ~std::uint64_t{0};

}  // namespace hostprobe::probe
