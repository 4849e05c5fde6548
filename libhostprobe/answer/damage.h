// damage.h: a part of a trace file that could not be read.
//
// The waist (answer/).
#pragma once

#include <cstdint>
#include <string>

namespace hostprobe::analysis {

// A part of a file that could not be read; what stands before and behind it could.
struct Damage {
  std::uint64_t offset;
  std::uint64_t bytes;
  std::string what;
};

}  // namespace hostprobe::analysis
