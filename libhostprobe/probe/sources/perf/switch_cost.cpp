// switch_cost.cpp: see switch_cost.h. The least of several rounds, as in calibrate.cpp.
#include "probe/sources/perf/switch_cost.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe/arch/architecture.h"
#include "probe/runtime/clock.h"
#include "probe/sources/perf/perf_event.h"

namespace hostprobe::probe {
namespace {

std::uint64_t ticks_of_names() {
  constexpr int kRounds = 9, kCalls = 32;
  std::uint64_t best = ~std::uint64_t{0};
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t begin = ticks();
    for (int i = 0; i < kCalls; ++i) prctl(PR_SET_NAME, "hostprobe");
    const std::uint64_t spent = ticks() - begin;
    if (spent < best) best = spent;
  }
  return best * 1024 / kCalls;
}

}  // namespace

std::uint64_t measure_perf_record() {
  perf_event_attr attr = software_event(PERF_COUNT_SW_DUMMY);
  attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
  attr.sample_id_all = 1;
  attr.comm = 1;
  attr.write_backward = 1;
  const int fd = static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (fd < 0) return 0;
  void* ring = mmap(nullptr, 2 * page_bytes(), PROT_READ, MAP_SHARED, fd, 0);
  const std::uint64_t with = ring == MAP_FAILED ? 0 : ticks_of_names();
  if (ring != MAP_FAILED) munmap(ring, 2 * page_bytes());
  close(fd);
  const std::uint64_t without = with == 0 ? 0 : ticks_of_names();
  return with > without ? with - without : 0;
}

}  // namespace hostprobe::probe
