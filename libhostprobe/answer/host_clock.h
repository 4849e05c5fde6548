// host_clock.h: the clock of one host against that of the reference host.
//
// The waist (answer/). model/host_clocks.h works it out.
#pragma once

#include <cstdint>

namespace hostprobe::analysis {

// Turns CLOCK_MONOTONIC of one host into that of the reference host.
struct HostClock {
  double at_ns = 0;      // on this host's clock, where the offset holds
  double offset_ns = 0;  // this host's clock minus the reference's
  double drift = 0;      // what the offset grows by, per ns
  double error_ns = 0;   // between the first and the last moment that both hosts share
  std::uint64_t moments = 0;

  double offset_at(double ns) const { return offset_ns + drift * (ns - at_ns); }
  std::uint64_t to_reference(std::uint64_t ns) const {
    return ns - static_cast<std::uint64_t>(static_cast<std::int64_t>(offset_at(static_cast<double>(ns))));
  }
};

}  // namespace hostprobe::analysis
