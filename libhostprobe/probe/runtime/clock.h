// clock.h: the probe's only clock on the hot path, the CPU's tick counter.
//
// Room 2 (probe/). On the program's threads, twice in every timed call: ticks() of arch/.
// Ticks are turned into nanoseconds by the reader and nowhere else.
#pragma once

#include <time.h>

#include "format/segment.h"
#include "probe/arch/architecture.h"

namespace hostprobe::probe {

inline std::uint64_t read_clock_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1000000000u + static_cast<std::uint64_t>(t.tv_nsec);
}

// What a simulated host's clock is wrong by (simulated_host.h); nothing on real ones.
struct ClockError {
  std::int64_t offset_ns;
  double ppm;
};
extern constinit ClockError g_clock_error;

inline std::uint64_t wrong_by(const ClockError& error, std::uint64_t monotonic_ns) {
  if (error.offset_ns == 0 && error.ppm == 0) return 0;
  return static_cast<std::uint64_t>(error.offset_ns +
                                    static_cast<std::int64_t>(static_cast<double>(monotonic_ns) * error.ppm * 1e-6));
}

// The ticks are read last-but-between, so that an interruption spreads over both sides.
template <class Read>
ClockPair read_clock_pair_by(Read read) {
  ClockPair pair{};
  pair.realtime_ns = read(CLOCK_REALTIME);
  pair.monotonic_ns = read(CLOCK_MONOTONIC);
  pair.ticks = ticks();
  std::uint64_t error = wrong_by(g_clock_error, pair.monotonic_ns);
  pair.realtime_ns += error;
  pair.monotonic_ns += error;
  return pair;
}
inline ClockPair read_clock_pair() { return read_clock_pair_by(read_clock_ns); }

}  // namespace hostprobe::probe
