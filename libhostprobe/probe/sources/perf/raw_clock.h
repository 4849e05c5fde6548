// raw_clock.h: from the kernel's CLOCK_MONOTONIC_RAW, in which perf buffers are stamped, to ticks.
//
// Room 2 (probe/). On the writer thread, or whoever ends the trace. Both run straight against each other, but neither's rate is known
// exactly: so pairs are taken all along, and what lies between two is divided evenly.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

struct RawPair {
  std::uint64_t ticks, raw_ns;
};

// The closest of a few readings: a thread that is taken off its CPU in between reads them apart.
RawPair read_raw_pair();

// All zeros: no pair yet.
class RawClock {
 public:
  static constexpr unsigned kPairs = 64;
  static constexpr std::uint64_t kApartNs =
      200000000;  // the newest replaces one that is not so far from the one before

  void forget() { count_ = 0; }
  // Later than all before it, else it is left out. Old ones are thinned out.
  void add(const RawPair& pair);
  // Outside of the pairs by the rate of the nearest two. 0: there are not two yet.
  std::uint64_t ticks_of(std::uint64_t raw_ns) const;

 private:
  void thin_out();

  unsigned count_;
  RawPair pairs_[kPairs];
};

}  // namespace hostprobe::probe
