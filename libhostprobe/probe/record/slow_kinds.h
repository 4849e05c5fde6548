// slow_kinds.h: the kinds of slow steps that come again and again, such as evaluations and checkpoints.
//
// Room 2 (probe/). Beside step_lengths.h, on the same thread. A program's schedule makes steps that are slow beside the median each
// time, and as long as each other. Such a step is no outlier, so it must not use up the dumps that an outlier needs. Two steps are
// of one kind if neither is slow beside the other, by the same share (HOSTPROBE_SLOW_STEP_PCT) that makes a step slow beside
// the median. A kind recurs once there were two of it: from the third on none is an outlier. By length, not by the number of
// steps in between: an epoch's evaluation and a checkpoint every ten minutes come at no fixed number. All zeros is the beginning.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

class SlowKinds {
 public:
  // A step that is slow beside the median. True: steps of its kind recur.
  bool take(std::uint64_t length, std::uint64_t percent) {
    Kind* kind = of_length(length, percent);
    const bool recurs = kind != nullptr && kind->count >= kRecurs;
    if (kind == nullptr) *(kind = weakest()) = {length, 0, 0};
    kind->length = kind->length - kind->length / 4 + length / 4;  // a kind may become longer as the program goes on
    kind->count += kind->count < kRecurs;
    kind->last = ++taken_;
    return recurs;
  }

 private:
  static constexpr unsigned kKinds = 8;
  static constexpr std::uint32_t kRecurs = 2;

  struct Kind {
    std::uint64_t length;
    std::uint32_t count, last;
  };

  Kind* of_length(std::uint64_t length, std::uint64_t percent) {
    Kind* nearest = nullptr;
    for (Kind& kind : kinds_) {
      const std::uint64_t shorter = length < kind.length ? length : kind.length;
      const std::uint64_t longer = length < kind.length ? kind.length : length;
      if (kind.count == 0 || longer * 100 >= shorter * percent) continue;
      if (nearest == nullptr || distance(kind, length) < distance(*nearest, length)) nearest = &kind;
    }
    return nearest;
  }
  static std::uint64_t distance(const Kind& kind, std::uint64_t length) {
    return kind.length < length ? length - kind.length : kind.length - length;
  }
  // One that does not recur, before one that does; of these the one that was seen longest ago.
  Kind* weakest() {
    Kind* weakest = kinds_;
    for (Kind& kind : kinds_) {
      if (kind.count != weakest->count ? kind.count < weakest->count : kind.last < weakest->last) weakest = &kind;
    }
    return weakest;
  }

  Kind kinds_[kKinds];
  std::uint32_t taken_;
};

}  // namespace hostprobe::probe
