// wait_period.h: steps of a thread that only waits for other threads: the heaviest wait that comes at even intervals.
//
// Room pure/. See step_period.h.
#pragma once

#include "step_period.h"

namespace hostprobe {

inline constexpr double kEvenShare = 0.75;  // of the intervals of a wait that may stand for steps
inline constexpr std::size_t kLeastEven = 16;

// The number that stands at `rank` once they are sorted. Moves them.
inline double nth_of(double* numbers, std::size_t count, std::size_t rank) {
  std::size_t low = 0, high = count - 1;
  while (low < high) {
    const double pivot = numbers[low + (high - low) / 2];
    std::size_t i = low, j = high;
    for (;;) {
      while (numbers[i] < pivot) ++i;
      while (pivot < numbers[j]) --j;
      if (i >= j) break;
      const double one = numbers[i];
      numbers[i++] = numbers[j];
      numbers[j--] = one;
    }
    if (rank <= j)
      high = j;
    else
      low = j + 1;
  }
  return numbers[rank];
}

// Whether places of one kind stand at even intervals; `waited_ns`: how long its calls took. `gaps`: room for them.
inline bool comes_evenly(const Token* tokens, const std::uint32_t* at, std::size_t size, double* gaps,
                         double& waited_ns) {
  waited_ns = 0;
  for (std::size_t i = 1; i < size; ++i) {
    gaps[i - 1] = tokens[at[i]].begin_ns - tokens[at[i - 1]].begin_ns;
    waited_ns += tokens[at[i]].end_ns - tokens[at[i]].begin_ns;
  }
  const double median = nth_of(gaps, size - 1, (size - 1) / 2);
  std::size_t even = 0;
  for (std::size_t i = 0; i + 1 < size; ++i) even += gaps[i] > 0.5 * median && gaps[i] < 1.5 * median;
  return static_cast<double>(even) >= kEvenShare * static_cast<double>(size - 1);
}

// As find_period().
inline bool find_wait_period(const Token* tokens, std::size_t count, void* memory, StepCut& cut) {
  Workspace space(memory, period_bytes(count));
  KindIndex index;
  NumberRoom room;
  if (count < kLeastEven || !room.take(count, space) || !index.make(tokens, count, false, room, space)) return false;
  auto* gaps = space.take<double>(count);
  double best_ns = 0, waited_ns = 0;
  for (std::uint32_t kind = 0; kind < index.kinds && gaps != nullptr; ++kind) {
    const std::size_t size = index.places_of(kind);
    const std::uint32_t* at = index.of(kind);
    if (size < kLeastEven || !comes_evenly(tokens, at, size, gaps, waited_ns) || waited_ns <= best_ns) continue;
    const double span_ns = tokens[at[size - 1]].end_ns - tokens[at[0]].begin_ns;
    if (span_ns < kLeastSpan * (tokens[count - 1].end_ns - tokens[0].begin_ns)) continue;
    best_ns = waited_ns;
    cut = StepCut{tokens[at[0]].work, tokens[at[0]].work, true, false, true};
  }
  return best_ns > 0;
}

}  // namespace hostprobe
