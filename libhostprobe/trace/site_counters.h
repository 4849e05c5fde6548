// site_counters.h: calls without records of their own, as counters per thread and place: waits below the recording threshold, and
// what left the memory of a process in mode monitor or flight.
//
// Room 3. Read from trace blocks and from segments; timeline/ makes events with a histogram of them. Counts and counters are
// exact, the middle of a bucket is within 3.2 % of any value in it.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace hostprobe {
struct SiteCounter;
struct SiteRow;
}  // namespace hostprobe

namespace hostprobe::analysis {

struct SpansSum {
  std::uint64_t ticks = 0;
  std::uint64_t max_ticks = 0;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> buckets;  // number and count, none of them 0

  std::uint64_t count() const;
};

struct SiteSum {
  std::uint32_t waker_tid = 0;  // the last known one; 0 = none
  std::uint64_t amount = 0;     // bytes
  SpansSum time;
  SpansSum wake;

  // A word of a row in a file. False: it names no bucket.
  bool add_bucket(std::uint64_t word);
};

// The middle of a bucket, in ticks.
double bucket_middle_ticks(std::uint32_t bucket);

SiteSum site_sum(const SiteCounter& counters);
SiteSum site_sum(const SiteRow& row);  // without its buckets

// The other way: a row of a file, and the words of its buckets behind it. `key` as in SiteCounter.
std::vector<std::uint64_t> bucket_words(const SiteSum& sum);
SiteRow site_row(std::uint32_t tid, std::uint64_t start_ticks, std::uint64_t key, const SiteSum& sum,
                 std::size_t buckets);

// What tells the counters of a thread apart: key and object of SiteCounter.
using SumKey = std::pair<std::uint64_t, std::uint64_t>;

// What came to `before` until it was `now`. The greatest value is that of its bucket where it may have been before.
SiteSum since(const SiteSum& now, const SiteSum& before);
// Of threads whose counters are merged.
void add(SiteSum& sum, const SiteSum& other);

// Counters only grow: of two readings the one with the greater count is the later one.
template <typename Key>
void keep_newer(std::map<Key, SiteSum>& known, const Key& key, SiteSum&& sum) {
  const auto [place, fresh] = known.try_emplace(key);
  if (fresh || sum.time.count() >= place->second.time.count()) place->second = std::move(sum);
}

}  // namespace hostprobe::analysis
