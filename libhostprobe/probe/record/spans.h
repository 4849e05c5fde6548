// spans.h: many lengths as a sum, the longest and a histogram.
//
// Room 2 (probe/). Added to by one thread and by signal handlers on it: hence the single instructions.
#pragma once

#include <bit>

#include "format/segment.h"
#include "probe/arch/architecture.h"

namespace hostprobe::probe {

constexpr std::uint32_t short_bucket(std::uint64_t ticks) {
  if (ticks < (1u << kSpanFirstOctave)) return 0;
  auto octave = static_cast<std::uint32_t>(std::bit_width(ticks)) - 1;
  if (octave >= kSpanFirstOctave + kSpanOctaves) return kSpanBuckets - 1;
  return 1 + (octave - kSpanFirstOctave) * 16 + static_cast<std::uint32_t>(ticks >> (octave - 4) & 15);
}

inline void add_span(Spans& spans, std::uint64_t ticks) {
  if (ticks > spans.max_ticks) spans.max_ticks = ticks;
  add_to_own(spans.ticks, ticks);
  count_own(spans.buckets[short_bucket(ticks)]);
}

// Empty again, without touching memory that was never used.
inline void clear_spans(Spans& spans) {
  if (spans.ticks == 0 && spans.buckets[0] == 0) return;
  spans.ticks = spans.max_ticks = 0;
  for (std::uint64_t& bucket : spans.buckets)
    if (bucket != 0) bucket = 0;
}

}  // namespace hostprobe::probe
