// short_waits.h: waits that are too short for a record of their own are summed up per thread and place.
//
// Room 2 (probe/). Called by keep_wait (wait.cpp) and progress.h on the program's threads. The sums lie in the segment,
// so they outlive a kill; each is written by one thread alone (and by signal handlers on it: hence the single
// instructions). Price: a look through at most 8 keys, 3 additions, no clock.
#pragma once

#include <bit>

#include "probe/record/thread.h"

namespace hostprobe::probe {

// Waits shorter than this leave no record; 0 until the tick rate is known.
extern std::uint64_t g_wait_ticks;

// The calling thread's sums for `hook` at `site`; nullptr when it has too many places or none is left.
SiteSums* short_waits_of(const Hook& hook, const void* site);

constexpr std::uint32_t short_bucket(std::uint64_t ticks) {
  if (ticks < (1u << kSpanFirstOctave)) return 0;
  auto octave = static_cast<std::uint32_t>(std::bit_width(ticks)) - 1;
  if (octave >= kSpanFirstOctave + kSpanOctaves) return kSpanBuckets - 1;
  return 1 + (octave - kSpanFirstOctave) * 16 + static_cast<std::uint32_t>(ticks >> (octave - 4) & 15);
}

inline void add_span(Spans& spans, std::uint64_t ticks) {
  if (ticks > spans.max_ticks) spans.max_ticks = ticks;
  asm volatile("addq %1, %0" : "+m"(spans.ticks) : "r"(ticks));
  asm volatile("incq %0" : "+m"(spans.buckets[short_bucket(ticks)]));
}

// The writer's side: which thread entry holds g_segment.shorts[i], plus 1 (0: nobody), and giving it back.
extern std::uint16_t g_short_owners[];
void release_short_waits(std::uint32_t i);

}  // namespace hostprobe::probe
