// step_lengths.h: how long the last steps were, and whether one more is slow beside them.
//
// Room 2 (probe/). Of marked steps on the thread that marks them, of detected ones on the writer thread. A step is compared with the
// median of those before it: one slow step does not move a median, and a program whose steps become longer for good (a longer
// sequence length) is slow for sixteen steps only. All zeros is the beginning.
#pragma once

#include <cstdint>

#include "probe/record/slow_kinds.h"

namespace hostprobe::probe {

inline constexpr unsigned kStepsKept = 31;
inline constexpr unsigned kStepsNeeded = 8;  // before a median means anything

struct StepLengths {
  std::uint32_t count;  // of all steps; from twice the ring on it goes on from once the ring
  std::uint64_t lengths[kStepsKept];
  SlowKinds slow_kinds;

  unsigned kept() const { return count < kStepsKept ? count : kStepsKept; }

  void add(std::uint64_t length) {
    lengths[count % kStepsKept] = length;
    if (++count == 2 * kStepsKept) count = kStepsKept;
  }

  // Of an even number of them the greater of the middle two; 0: of none.
  std::uint64_t median() const {
    std::uint64_t sorted[kStepsKept];
    const unsigned size = kept();
    for (unsigned i = 0; i < size; ++i) {
      unsigned place = i;
      for (; place > 0 && sorted[place - 1] > lengths[i]; --place) sorted[place] = sorted[place - 1];
      sorted[place] = lengths[i];
    }
    return size == 0 ? 0 : sorted[size / 2];
  }

  // Whether a step of that length takes `percent` of the median. That median is at most so long as more than half of them are: no
  // sorting, which would cost more than the rest of a step's mark.
  bool is_slow(std::uint64_t length, std::uint64_t percent) const {
    if (percent == 0 || count < kStepsNeeded) return false;
    const std::uint64_t bound = length * 100 / percent;
    unsigned within = 0;
    for (unsigned i = 0; i < kept(); ++i) within += lengths[i] <= bound;
    return within > kept() / 2;
  }

  // Of each step, once: whether it is slow, and of no kind that recurs.
  bool is_outlier(std::uint64_t length, std::uint64_t percent) {
    return is_slow(length, percent) && !slow_kinds.take(length, percent);
  }
};

}  // namespace hostprobe::probe
