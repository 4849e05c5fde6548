// site_counters.cpp: see site_counters.h.
#include "site_counters.h"

#include <algorithm>

#include "format/file.h"

namespace hostprobe::analysis {
namespace {

SpansSum spans_sum(const Spans& spans) {
  SpansSum sum{spans.ticks, spans.max_ticks, {}};
  for (std::uint32_t i = 0; i < kSpanBuckets; ++i) {
    if (spans.buckets[i] != 0) sum.buckets.emplace_back(i, spans.buckets[i]);
  }
  return sum;
}

std::uint64_t less(std::uint64_t now, std::uint64_t before) { return now - std::min(now, before); }

SpansSum since(const SpansSum& now, const SpansSum& before) {
  std::map<std::uint32_t, std::uint64_t> counts(now.buckets.begin(), now.buckets.end());
  for (const auto& [bucket, count] : before.buckets)
    if (const auto at = counts.find(bucket); at != counts.end()) at->second = less(at->second, count);
  SpansSum rest{less(now.ticks, before.ticks), 0, {}};
  for (const auto& [bucket, count] : counts)
    if (count != 0) rest.buckets.emplace_back(bucket, count);
  if (rest.buckets.empty()) return {};
  const bool is_new = now.max_ticks > before.max_ticks;
  const auto middle = static_cast<std::uint64_t>(bucket_middle_ticks(rest.buckets.back().first));
  rest.max_ticks = is_new ? now.max_ticks : std::min(middle, now.max_ticks);
  return rest;
}

void add(SpansSum& sum, const SpansSum& other) {
  std::map<std::uint32_t, std::uint64_t> counts(sum.buckets.begin(), sum.buckets.end());
  for (const auto& [bucket, count] : other.buckets) counts[bucket] += count;
  sum.ticks += other.ticks;
  sum.max_ticks = std::max(sum.max_ticks, other.max_ticks);
  sum.buckets.assign(counts.begin(), counts.end());
}

void add_buckets(const SpansSum& spans, std::uint64_t mark, std::vector<std::uint64_t>& words) {
  for (const auto& [bucket, count] : spans.buckets) words.push_back(bucket | mark | count << 16);
}

}  // namespace

std::uint64_t SpansSum::count() const {
  std::uint64_t sum = 0;
  for (const auto& [bucket, count] : buckets) sum += count;
  return sum;
}

double bucket_middle_ticks(std::uint32_t bucket) {
  if (bucket == 0) return 0.5 * (1u << kSpanFirstOctave);
  const std::uint32_t octave = kSpanFirstOctave + (bucket - 1) / 16;
  const double width = static_cast<double>(std::uint64_t{1} << octave) / 16;
  return static_cast<double>(std::uint64_t{1} << octave) + (0.5 + (bucket - 1) % 16) * width;
}

bool SiteSum::add_bucket(std::uint64_t word) {
  const auto bucket = static_cast<std::uint32_t>(word & (kWakeBucket - 1));
  if (bucket >= kSpanBuckets || word >> 16 == 0) return false;
  ((word & kWakeBucket) != 0 ? wake : time).buckets.emplace_back(bucket, word >> 16);
  return true;
}

SiteSum site_sum(const SiteCounter& counters) {
  return {counters.waker_tid, counters.amount, spans_sum(counters.time), spans_sum(counters.wake)};
}

SiteSum site_sum(const SiteRow& row) {
  return {row.waker_tid, 0, {row.time.ticks, row.time.max_ticks, {}}, {row.wake.ticks, row.wake.max_ticks, {}}};
}

SiteSum since(const SiteSum& now, const SiteSum& before) {
  return {now.waker_tid, less(now.amount, before.amount), since(now.time, before.time), since(now.wake, before.wake)};
}

void add(SiteSum& sum, const SiteSum& other) {
  sum.amount += other.amount;
  add(sum.time, other.time);
  add(sum.wake, other.wake);
}

std::vector<std::uint64_t> bucket_words(const SiteSum& sum) {
  std::vector<std::uint64_t> words;
  add_buckets(sum.time, 0, words);
  add_buckets(sum.wake, kWakeBucket, words);
  return words;
}

SiteRow site_row(std::uint32_t tid, std::uint64_t start_ticks, std::uint64_t key, const SiteSum& sum,
                 std::size_t buckets) {
  return {key,
          start_ticks,
          tid,
          sum.waker_tid,
          static_cast<std::uint32_t>(buckets),
          0,
          {sum.time.ticks, sum.time.max_ticks},
          {sum.wake.ticks, sum.wake.max_ticks}};
}

}  // namespace hostprobe::analysis
