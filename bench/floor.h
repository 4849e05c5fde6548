// floor.h: the least that recording a call with two time stamps can cost on this machine, and the clock that judges it.
//
// Every figure of bench/ is a ratio to one of these two floors, measured in the same process right before the call it is
// compared with: nanoseconds move by 15 % with the neighbours of a virtual machine, the ratios by 2 %.
#pragma once

#include <time.h>
#include <x86intrin.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace hostprobe::bench {

// Nanoseconds of CPU time of the calling thread: what other threads and processes do does not count.
inline double thread_cpu_ns() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

struct alignas(64) Line {
  std::uint64_t word[8];
};

// Where the floors store: 2 MiB, gone round, as large as what a recorder keeps warm.
class FloorRing {
 public:
  FloorRing() : lines_(new Line[kLines]()) {}

  Line& next() { return lines_[next_++ % kLines]; }

 private:
  static constexpr std::size_t kLines = 32768;
  std::unique_ptr<Line[]> lines_;
  std::size_t next_ = 0;
};

inline void store_line(Line& line, std::uint64_t begin, std::uint64_t end, std::uint64_t word) {
  asm volatile("" : "+r"(word));  // or the compiler would make one wide store of it, which is no cheaper but not ours
  line.word[0] = begin;
  line.word[1] = end;
  for (int i = 2; i < 8; ++i) line.word[i] = word;
  asm volatile("" : : "r"(&line) : "memory");
}

// Floor T: 2 × rdtsc and a 64-byte store.
inline void run_floor_t(FloorRing& ring, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    std::uint64_t begin = __rdtsc();
    asm volatile("" ::: "memory");
    std::uint64_t end = __rdtsc();
    store_line(ring.next(), begin, end, i);
  }
}

// Floor P: the same with rdtscp, which waits for what was issued before it.
inline void run_floor_p(FloorRing& ring, unsigned count) {
  unsigned cpu;
  for (unsigned i = 0; i < count; ++i) {
    std::uint64_t begin = __rdtscp(&cpu);
    asm volatile("" ::: "memory");
    std::uint64_t end = __rdtscp(&cpu);
    store_line(ring.next(), begin, end, i);
  }
}

}  // namespace hostprobe::bench
