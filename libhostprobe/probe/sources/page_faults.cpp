// page_faults.cpp: see page_faults.h.
#include "probe/sources/page_faults.h"

#include <stdio.h>
#include <string.h>

#include "format/samples.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/small_file.h"
#include "probe/runtime/tick_rate.h"
#include "probe/sources/perf/perf_event.h"
#include "probe/sources/sample_rows.h"

namespace hostprobe::probe {
namespace {

constexpr std::uint64_t kSecondNs = 1000000000, kPlacesASecond = 20, kShortestPeriod = 16;
constexpr std::uint64_t kFarApart = 4;  // times: then another period is wanted
constexpr std::uint64_t kCalmNs =
    2 * kSecondNs;  // with few faults: then the memory is given back, of which a user has little

//  header 8 | address 8 | pid 4 | tid 4 | time 8
struct FaultRecord {
  perf_event_header header;
  std::uint64_t address;
  std::uint32_t pid, tid;
  std::uint64_t raw_ns;
};
static_assert(sizeof(FaultRecord) == 32);

// Odd, as what a program does in turns has an even number of pages more often.
std::uint64_t period_of(std::uint64_t faults, std::uint64_t passed_ns) {
  if (passed_ns == 0) return 0;
  const double a_second = static_cast<double>(faults) * static_cast<double>(kSecondNs) / static_cast<double>(passed_ns);
  const auto period = static_cast<std::uint64_t>(a_second / static_cast<double>(kPlacesASecond));
  return (period > kShortestPeriod ? period : kShortestPeriod) | 1;
}

bool read_faults(std::uint32_t tid, FaultCounts& counts) {
  char path[64], line[512];
  snprintf(path, sizeof path, "/proc/self/task/%u/stat", tid);
  if (!read_small_file(path, line, sizeof line)) return false;
  const char* end = strrchr(line, ')');  // a name may have blanks
  unsigned long memory = 0, disk = 0, user = 0, kernel = 0;
  constexpr char kFields[] = " %*c %*d %*d %*d %*d %*d %*u %lu %*u %lu %*u %lu %lu";
  if (end == nullptr || sscanf(end + 1, kFields, &memory, &disk, &user, &kernel) != 4) return false;
  counts = {memory + disk, disk, user, kernel};
  return true;
}

// The thread had so many of them in that time: begins to tell of some, or of fewer or more.
void watch_places(PageFaults& own, std::uint32_t tid, std::uint64_t faults, std::uint64_t passed_ns) {
  const std::uint64_t period = period_of(faults, passed_ns);
  const bool fits = own.places.page != nullptr && period <= kFarApart * own.period && own.period <= kFarApart * period;
  if (period == 0 || fits || !may_ask_for_perf_events()) return;
  close_perf_ring(own.places);
  perf_event_attr event = software_event(PERF_COUNT_SW_PAGE_FAULTS);
  event.sample_period = own.period = period;
  event.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  open_perf_ring(own.places, event, tid);
}

void take_places(PageFaults& own, std::uint32_t tid) {
  if (own.places.page == nullptr) return;
  const std::uint64_t ticks_now = ticks(), raw_now_ns = read_clock_ns(CLOCK_MONOTONIC_RAW);
  FaultRecord record;
  while (take_perf_record(own.places, reinterpret_cast<char*>(&record), sizeof record)) {
    if (record.header.type != PERF_RECORD_SAMPLE || record.header.size != sizeof record || record.tid != tid) continue;
    const std::uint64_t ago_ns = raw_now_ns > record.raw_ns ? raw_now_ns - record.raw_ns : 0;
    keep_sample({ticks_now - ticks_of(ago_ns / 1000), tid, kSampleFaultPlace, 0, record.address, 0,
                 static_cast<std::uint32_t>(own.period)});
  }
}

}  // namespace

void begin_page_faults(PageFaults& own, std::uint32_t tid) {
  if (read_faults(tid, own.told)) own.seen = own.told;
  own.told_ns = read_clock_ns(CLOCK_MONOTONIC);
}

// Few faults wait for more.
void take_page_faults(PageFaults& own, std::uint32_t tid, bool may_ask) {
  constexpr std::uint64_t kFewFaults = 256, kFewOfDisk = 16;
  constexpr std::uint64_t kClockTickUs = 10000;  // of /proc, whatever the kernel's own is
  take_places(own, tid);
  FaultCounts now;
  if (!read_faults(tid, now)) return;
  own.seen = now;
  const FaultCounts before = own.told;
  const std::uint64_t faults = now.faults - before.faults, disk = now.disk - before.disk;
  const std::uint64_t now_ns = read_clock_ns(CLOCK_MONOTONIC);
  if (faults < kFewFaults && disk < kFewOfDisk) {
    if (now_ns > own.told_ns + kCalmNs) close_perf_ring(own.places);
    return;
  }
  if (may_ask) watch_places(own, tid, faults, now_ns - own.told_ns);
  own.told = now;
  own.told_ns = now_ns;
  const std::uint64_t kernel_us = (now.kernel - before.kernel) * kClockTickUs;
  const std::uint64_t cpu_us = kernel_us + (now.user - before.user) * kClockTickUs;
  if (faults > UINT32_MAX || cpu_us > UINT32_MAX) return;
  keep_sample({ticks(), tid, kSampleFaults, 0, cpu_us << 32 | faults, static_cast<std::uint32_t>(disk),
               static_cast<std::uint32_t>(kernel_us)});
}

}  // namespace hostprobe::probe
