// progress.h: how well a progress thread of NCCL keeps up.
//
// The waist (answer/). analysis/measures/progress.h fills it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "histogram.h"
#include "role.h"

namespace hostprobe::analysis {

struct ProgressAnswer {
  std::uint32_t tid = 0;
  std::string name;
  Role role = Role::kOther;
  std::string communicator;  // the one for which the thread was started; "" = not known
  Histogram poll;            // intervals
  std::uint64_t stalls = 0;  // those recorded one by one
  double stall_ms = 0;
  std::uint32_t migrations = 0;  // polls from another CPU than the one before
  std::optional<double> cpu_ms;
  std::optional<double> run_delay_ms;
};

}  // namespace hostprobe::analysis
