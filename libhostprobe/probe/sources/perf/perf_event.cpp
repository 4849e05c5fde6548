// perf_event.cpp: see perf_event.h. The least of several rounds, as in calibrate.cpp.
#include "probe/sources/perf/perf_event.h"

#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe/runtime/clock.h"
#include "probe/sources/perf/perf_ring.h"

namespace hostprobe::probe {
namespace {

constexpr int kCalls = 16;

template <class Call>
std::uint64_t ns_of_many(Call call) {
  constexpr int kRounds = 7;
  std::uint64_t best = ~std::uint64_t{0};
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t begin = read_clock_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < kCalls; ++i) call();
    const std::uint64_t spent = read_clock_ns(CLOCK_MONOTONIC) - begin;
    if (spent < best) best = spent;
  }
  return best;
}

}  // namespace

// What is off already is turned off twice for comparison.
std::uint64_t measure_event_switch(perf_event_attr event) {
  if (!may_ask_for_perf_events()) return 0;
  const int fd = static_cast<int>(syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (fd < 0) return 0;
  const std::uint64_t with = ns_of_many([fd] {
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
  });
  ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
  const std::uint64_t without = ns_of_many([fd] {
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
  });
  close(fd);
  return with > without ? (with - without) / kCalls : 0;
}

}  // namespace hostprobe::probe
