// gain.h: by how much steps would be shorter without a cause.
//
// The waist (answer/).
#pragma once

#include <cstdint>

namespace hostprobe::analysis {

// What the steps would wait for instead, where clearly less is gained than is lost. kNone: as much is, or it is not known.
enum class GainLimit : std::uint8_t { kNone, kGpu, kTransfers, kHost };

// By a fifth of what is lost, and by 3 % of the steps; all three in one unit.
bool is_clearly_less(double gained, double lost, double steps);

const char* gain_limit_id(GainLimit limit);  // "" for kNone

// With what it is at least and at most, in 99 of 100 cases.
struct Gain {
  double ns = 0, low_ns = 0, high_ns = 0;
  GainLimit limit = GainLimit::kNone;
};

}  // namespace hostprobe::analysis
