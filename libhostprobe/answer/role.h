// role.h: what a thread of a training process is for.
//
// The waist (answer/). trace/roles.h works it out.
#pragma once

namespace hostprobe::analysis {

enum class Role {
  kMain,
  kAutograd,
  kNcclProgress,
  kNcclService,
  kNcclOther,
  kPinMemory,
  kDataloader,
  kGloo,
  kOpenmp,
  kWatchdog,
  kCudaInternal,
  kHostprobe,
  kOther,
};

const char* role_name(Role role);

}  // namespace hostprobe::analysis
