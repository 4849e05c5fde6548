// raw_clock.cpp: see raw_clock.h.
#include "probe/sources/perf/raw_clock.h"

#include "probe/runtime/clock.h"

namespace hostprobe::probe {

RawPair read_raw_pair() {
  constexpr int kReadings = 5;
  RawPair best{};
  std::uint64_t least = ~std::uint64_t{0};
  for (int i = 0; i < kReadings; ++i) {
    const std::uint64_t before = ticks(), raw_ns = read_clock_ns(CLOCK_MONOTONIC_RAW), after = ticks();
    if (after - before >= least) continue;
    least = after - before;
    best = {before + (after - before) / 2, raw_ns};
  }
  return best;
}

void RawClock::thin_out() {
  for (unsigned i = 1; 2 * i < count_; ++i) pairs_[i] = pairs_[2 * i];
  count_ = (count_ + 1) / 2;
}

void RawClock::add(const RawPair& pair) {
  if (count_ > 0 && (pair.raw_ns <= pairs_[count_ - 1].raw_ns || pair.ticks <= pairs_[count_ - 1].ticks)) return;
  if (count_ > 1 && pairs_[count_ - 1].raw_ns - pairs_[count_ - 2].raw_ns < kApartNs) --count_;
  if (count_ == kPairs) thin_out();
  pairs_[count_++] = pair;
}

std::uint64_t RawClock::ticks_of(std::uint64_t raw_ns) const {
  if (count_ < 2) return 0;
  unsigned low = 0, high = count_ - 1;  // the pairs on both sides
  while (high - low > 1) {
    const unsigned middle = (low + high) / 2;
    (pairs_[middle].raw_ns <= raw_ns ? low : high) = middle;
  }
  const RawPair &from = pairs_[low], &to = pairs_[high];
  const double rate = static_cast<double>(to.ticks - from.ticks) / static_cast<double>(to.raw_ns - from.raw_ns);
  const auto since_ns = static_cast<std::int64_t>(raw_ns - from.raw_ns);
  return from.ticks + static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<double>(since_ns) * rate));
}

}  // namespace hostprobe::probe
