// gpu_clock.h: when the device's clock was what, on the host's: from base events of hostprobe's own.
//
// Room 3. A base event was reached after its call began and before a query found it so. Where both are near each other the device's
// clock is known; the others only bound it. The two clocks drift apart, so the bases around a moment tell.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace hostprobe::analysis {

struct GpuClockBase {
  std::uint64_t number = 0;  // of the process
  double waited_ns =
      0;  // from the return of the call that put it into an empty stream until it was seen reached; 0: not known
  double earliest_ns = 0;
  double latest_ns = 0;  // NaN: it was not seen soon
  double since_ns = 0;   // of the device's clock, since the base before of its context; 0: it is the first
  std::uint32_t device = 0, context = 0;
};

class GpuClock {
 public:
  explicit GpuClock(std::vector<GpuClockBase> bases);

  // Of an event so long after the base. Nothing: there is no such base, or its context's clock is not known.
  std::optional<double> host_ns(std::uint64_t base, double device_ns) const;
  std::optional<std::uint32_t> device_of(std::uint64_t base) const;
  // The half of what the moment of a base can be wrong by, in the median; 0: no clock is known.
  double error_ns() const { return error_ns_; }
  // From the return of a call that puts an event into an empty stream until it is reached, where nothing disturbs; 0: not known.
  double empty_event_ns() const { return empty_event_ns_; }

 private:
  struct Placed {
    double host_ns = 0;  // of the device's zero at this base, after the bases around it were heard
    double rate = 1;     // nanoseconds of the host's clock for one of the device's, from there on
    std::uint32_t device = 0;
  };
  void place(const std::vector<GpuClockBase>& bases);

  std::map<std::uint64_t, Placed> placed_;  // by number
  double error_ns_ = 0, empty_event_ns_ = 0;
};

}  // namespace hostprobe::analysis
