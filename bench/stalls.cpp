// stalls THREADS SECONDS PER_MS: every thread makes PER_MS hooked calls a millisecond, each of which leaves a record, and
// times each of them. Prints a row per power of two of nanoseconds: "bucket COUNT", and the longest. stalls.py runs it
// with and without the probe in turn.
#include <errno.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <bit>
#include <thread>
#include <vector>

namespace {

constexpr unsigned kBuckets = 64;

struct Histogram {
  uint64_t counts[kBuckets] = {};
  uint64_t longest_ns = 0;
  void add(uint64_t ns) {
    ++counts[std::bit_width(ns)];
    if (ns > longest_ns) longest_ns = ns;
  }
};

uint64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

// A wait whose limit has passed: one system call that never sleeps, and always a record.
void make_calls(Histogram& histogram, uint64_t seconds, uint64_t per_ms) {
  sem_t never;
  sem_init(&never, 0, 0);
  const timespec passed = {1, 0};
  const timespec pause = {0, 200000};
  const uint64_t begin = now_ns(), end = begin + seconds * 1000000000u;
  uint64_t made = 0;
  for (uint64_t before = begin; before < end;) {
    if (made >= per_ms * ((before - begin) / 1000000 + 1)) {
      clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
      before = now_ns();
      continue;
    }
    if (sem_timedwait(&never, &passed) == 0 || errno != ETIMEDOUT) abort();
    const uint64_t after = now_ns();
    histogram.add(after - before);
    before = after;
    ++made;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  std::vector<Histogram> histograms(static_cast<size_t>(atoi(argv[1])));
  std::vector<std::thread> threads;
  for (Histogram& histogram : histograms)
    threads.emplace_back(make_calls, std::ref(histogram), strtoull(argv[2], nullptr, 10),
                         strtoull(argv[3], nullptr, 10));
  for (std::thread& thread : threads) thread.join();
  Histogram sum;
  for (const Histogram& histogram : histograms) {
    for (unsigned i = 0; i < kBuckets; ++i) sum.counts[i] += histogram.counts[i];
    if (histogram.longest_ns > sum.longest_ns) sum.longest_ns = histogram.longest_ns;
  }
  for (unsigned i = 0; i < kBuckets; ++i)
    if (sum.counts[i] != 0) printf("%u %llu\n", i, static_cast<unsigned long long>(sum.counts[i]));
  printf("longest %llu\n", static_cast<unsigned long long>(sum.longest_ns));
}
