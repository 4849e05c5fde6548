// nccl_abi.h: the few shapes of nccl.h that a hook must know to pass a call on. Handles are pointers, enumerations are ints;
// nothing here differs between NCCL 2.18 and 2.32, nor in RCCL.
#pragma once

namespace hostprobe::probe {

using NcclComm = void*;
using NcclStream = void*;
struct NcclUniqueId {
  char bytes[128];
};

inline constexpr int kNcclSuccess = 0;
inline constexpr int kNcclInProgress = 7;  // a communicator that does not block: the call was taken

}  // namespace hostprobe::probe
