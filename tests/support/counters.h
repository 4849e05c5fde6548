// counters.h: counters for test traces and segments, by the words of format/segment.h and not by the probe's code.
//
// A row is given by the ticks of each call that went into it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "support/trace_file.h"

namespace hostprobe::test {

inline std::uint64_t bucket_by_definition(std::uint64_t ticks) {
  if (ticks < 128) return 0;
  const auto octave = static_cast<std::uint64_t>(std::floor(std::log2(static_cast<double>(ticks))));
  if (octave >= kSpanFirstOctave + kSpanOctaves) return kSpanBuckets - 1;
  const double into = static_cast<double>(ticks) / std::exp2(static_cast<double>(octave)) - 1;
  return 1 + 16 * (octave - kSpanFirstOctave) + static_cast<std::uint64_t>(into * 16);
}

struct Counters {
  std::vector<std::uint64_t> time = {}, wake = {};  // ticks
};

inline SpansTotal total_of(const std::vector<std::uint64_t>& spans) {
  SpansTotal total{0, 0};
  for (const std::uint64_t ticks : spans) {
    total.ticks += ticks;
    total.max_ticks = std::max(total.max_ticks, ticks);
  }
  return total;
}

inline std::vector<std::uint64_t> bucket_words(const Counters& counters) {
  std::map<std::uint64_t, std::uint64_t> buckets;
  for (const std::uint64_t ticks : counters.time) ++buckets[bucket_by_definition(ticks)];
  for (const std::uint64_t ticks : counters.wake) ++buckets[bucket_by_definition(ticks) | kWakeBucket];
  std::vector<std::uint64_t> words;
  for (const auto& [bucket, count] : buckets) words.push_back(bucket | count << 16);
  return words;
}

inline std::string bytes_of(const std::vector<std::uint64_t>& words) {
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(std::uint64_t)};
}

inline SiteRow site_row(std::uint32_t tid, std::uint64_t site, std::uint16_t hook, const Counters& counters,
                        std::uint32_t waker) {
  SiteRow row{};
  row.key = pack_place(site, hook);
  row.thread_start_ticks = at_us(0);
  row.tid = tid;
  row.waker_tid = waker;
  row.time = total_of(counters.time);
  row.wake = total_of(counters.wake);
  row.bucket_count = static_cast<std::uint32_t>(bucket_words(counters).size());
  return row;
}

inline std::string short_row(std::uint32_t tid, std::uint64_t site, std::uint16_t hook, const Counters& counters,
                             std::uint32_t waker) {
  return bytes_of(site_row(tid, site, hook, counters, waker)) + bytes_of(bucket_words(counters));
}

struct SumsLook {
  std::uint32_t tid = 0;
  std::uint16_t hook = 1;
  std::uint64_t site = 0;
  Counters counters = {};
  std::uint64_t object = 0;
  std::uint64_t amount = 0;
  std::uint32_t waker = 0;
};

inline std::string sums_row(const SumsLook& look) {
  const CounterRow row{site_row(look.tid, look.site, look.hook, look.counters, look.waker), look.object, look.amount};
  return bytes_of(row) + bytes_of(bucket_words(look.counters));
}

inline void fill_spans(Spans& spans, const std::vector<std::uint64_t>& ticks) {
  const SpansTotal total = total_of(ticks);
  spans.ticks = total.ticks;
  spans.max_ticks = total.max_ticks;
  std::fill(std::begin(spans.buckets), std::end(spans.buckets), 0);
  for (const std::uint64_t one : ticks) ++spans.buckets[bucket_by_definition(one)];
}

inline void fill_sums(SiteCounter& counters, const SumsLook& look) {
  counters.key = pack_place(look.site, look.hook);
  counters.thread_start_ticks = at_us(0);
  counters.tid = look.tid;
  counters.waker_tid = look.waker;
  counters.object = look.object;
  counters.amount = look.amount;
  fill_spans(counters.time, look.counters.time);
  fill_spans(counters.wake, look.counters.wake);
}

}  // namespace hostprobe::test
