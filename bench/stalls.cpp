// stalls THREADS SECONDS PER_MS: every thread makes PER_MS hooked calls a millisecond, each of which leaves a record, and
// times each of them. Prints a row per power of two of nanoseconds: "bucket COUNT", the longest, and of the calls that took
// more than 2^20 ns (1.05 ms): how many slept in them, how many used as much CPU time themselves, and how many were
// preempted. stalls.py runs it with and without the probe in turn.
#include <errno.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include <bit>
#include <thread>
#include <vector>

namespace {

constexpr unsigned kBuckets = 64;

constexpr uint64_t kLongNs = 1 << 20;

uint64_t read_ns(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t now_ns() { return read_ns(CLOCK_MONOTONIC); }

// What the kernel has counted of the calling thread.
struct Usage {
  uint64_t cpu_ns = read_ns(CLOCK_THREAD_CPUTIME_ID);
  long sleeps = 0, preemptions = 0;
  Usage() {
    rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    sleeps = usage.ru_nvcsw;
    preemptions = usage.ru_nivcsw;
  }
};

struct Histogram {
  uint64_t counts[kBuckets] = {};
  uint64_t longest_ns = 0;
  uint64_t slept = 0, busy = 0, preempted = 0;  // of the long ones
  void add(uint64_t ns, const Usage& before) {
    ++counts[std::bit_width(ns)];
    if (ns > longest_ns) longest_ns = ns;
    if (ns < kLongNs) return;
    const Usage after;
    slept += after.sleeps != before.sleeps;
    busy += after.cpu_ns - before.cpu_ns >= kLongNs;
    preempted += after.preemptions != before.preemptions;
  }
  void add(const Histogram& other) {
    for (unsigned i = 0; i < kBuckets; ++i) counts[i] += other.counts[i];
    if (other.longest_ns > longest_ns) longest_ns = other.longest_ns;
    slept += other.slept;
    busy += other.busy;
    preempted += other.preempted;
  }
};

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
    const Usage usage;
    before = now_ns();
    if (sem_timedwait(&never, &passed) == 0 || errno != ETIMEDOUT) abort();
    const uint64_t after = now_ns();
    histogram.add(after - before, usage);
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
  for (const Histogram& histogram : histograms) sum.add(histogram);
  for (unsigned i = 0; i < kBuckets; ++i)
    if (sum.counts[i] != 0) printf("%u %lu\n", i, sum.counts[i]);
  printf("longest %lu\nslept %lu\nbusy %lu\npreempted %lu\n", sum.longest_ns, sum.slept, sum.busy, sum.preempted);
}
