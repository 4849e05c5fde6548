// fault_places.cpp: see fault_places.h.
#include "probe/sources/fault_places.h"

#include "format/samples.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/tick_rate.h"
#include "probe/sources/perf/perf_event.h"
#include "probe/sources/sample_rows.h"

namespace hostprobe::probe {
namespace {

constexpr std::uint64_t kSecondNs = 1000000000, kPlacesASecond = 20, kShortestPeriod = 16;
constexpr std::uint64_t kFarApart = 4;  // times: then another period is wanted

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

}  // namespace

void watch_fault_places(FaultPlaces& places, std::uint32_t tid, std::uint64_t faults, std::uint64_t passed_ns) {
  const std::uint64_t period = period_of(faults, passed_ns);
  if (period == 0 || !may_ask_for_perf_events()) return;
  const bool fits =
      places.ring.page != nullptr && period <= kFarApart * places.period && places.period <= kFarApart * period;
  if (fits) return;
  take_fault_places(places, tid);
  close_perf_ring(places.ring);
  perf_event_attr event = software_event(PERF_COUNT_SW_PAGE_FAULTS);
  event.sample_period = places.period = period;
  event.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  open_perf_ring(places.ring, event, tid);
}

void take_fault_places(FaultPlaces& places, std::uint32_t tid) {
  if (places.ring.page == nullptr) return;
  const std::uint64_t ticks_now = ticks(), raw_now_ns = read_clock_ns(CLOCK_MONOTONIC_RAW);
  FaultRecord record;
  while (take_perf_record(places.ring, reinterpret_cast<char*>(&record), sizeof record)) {
    if (record.header.type != PERF_RECORD_SAMPLE || record.header.size != sizeof record || record.tid != tid) continue;
    const std::uint64_t ago_ns = raw_now_ns > record.raw_ns ? raw_now_ns - record.raw_ns : 0;
    keep_sample({ticks_now - ticks_of(ago_ns / 1000), tid, kSampleFaultPlace, 0, record.address, 0,
                 static_cast<std::uint32_t>(places.period)});
  }
}

}  // namespace hostprobe::probe
