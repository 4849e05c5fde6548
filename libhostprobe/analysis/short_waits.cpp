// short_waits.cpp: see short_waits.h.
#include "short_waits.h"

#include <algorithm>

namespace hostprobe::analysis {
namespace {

// The middle of a bucket, in ticks.
double middle_of(std::uint32_t bucket) {
  if (bucket == 0) return 0.5 * (1u << kShortFirstOctave);
  const std::uint32_t octave = kShortFirstOctave + (bucket - 1) / 16;
  const double width = static_cast<double>(std::uint64_t{1} << octave) / 16;
  return static_cast<double>(std::uint64_t{1} << octave) + (0.5 + (bucket - 1) % 16) * width;
}

ShortSpansSum spans_sum(const ShortSpans& spans) {
  ShortSpansSum sum{spans.ticks, spans.max_ticks, {}};
  for (std::uint32_t i = 0; i < kShortBuckets; ++i) {
    if (spans.buckets[i] != 0) sum.buckets.emplace_back(i, spans.buckets[i]);
  }
  return sum;
}

}  // namespace

std::uint64_t ShortSpansSum::count() const {
  std::uint64_t sum = 0;
  for (const auto& [bucket, count] : buckets) sum += count;
  return sum;
}

void ShortSpansSum::add_to(Histogram& histogram, const TickClock& clock) const {
  if (buckets.empty()) return;
  Histogram more;
  for (const auto& [bucket, count] : buckets) {
    // The bucket of the longest one is half empty as a rule.
    const double middle = std::min(middle_of(bucket), static_cast<double>(max_ticks));
    more.add(clock.length_ns(middle), count);
  }
  more.set_exact(clock.length_ns(static_cast<double>(ticks)), clock.length_ns(static_cast<double>(max_ticks)));
  histogram.add(more);
}

bool ShortWaitsSum::add_bucket(std::uint64_t word) {
  const auto bucket = static_cast<std::uint32_t>(word & (kShortWakeBucket - 1));
  if (bucket >= kShortBuckets || word >> 16 == 0) return false;
  ((word & kShortWakeBucket) != 0 ? wake : time).buckets.emplace_back(bucket, word >> 16);
  return true;
}

ShortWaitsSum short_waits_sum(const ShortWaits& sums) {
  return {sums.waker_tid, spans_sum(sums.time), spans_sum(sums.wake)};
}

ShortWaitsSum short_waits_sum(const ShortWaitsRow& row) {
  return {row.waker_tid, {row.time.ticks, row.time.max_ticks, {}}, {row.wake.ticks, row.wake.max_ticks, {}}};
}

void keep_newer(std::map<std::uint64_t, ShortWaitsSum>& known, std::uint64_t key, ShortWaitsSum sum) {
  const auto [place, fresh] = known.try_emplace(key);
  if (fresh || sum.time.count() >= place->second.time.count()) place->second = std::move(sum);
}

}  // namespace hostprobe::analysis
