// role.cpp: see role.h.
#include "role.h"

namespace hostprobe::analysis {

const char* role_name(Role role) {
  switch (role) {
    case Role::kMain:
      return "main";
    case Role::kAutograd:
      return "autograd";
    case Role::kNcclProgress:
      return "nccl_progress";
    case Role::kNcclService:
      return "nccl_service";
    case Role::kNcclOther:
      return "nccl_other";
    case Role::kPinMemory:
      return "pin_memory";
    case Role::kDataloader:
      return "dataloader";
    case Role::kGloo:
      return "gloo";
    case Role::kOpenmp:
      return "openmp";
    case Role::kWatchdog:
      return "watchdog";
    case Role::kCudaInternal:
      return "cuda_internal";
    case Role::kHostprobe:
      return "hostprobe";
    case Role::kOther:
      return "other";
  }
  return "other";
}

}  // namespace hostprobe::analysis
