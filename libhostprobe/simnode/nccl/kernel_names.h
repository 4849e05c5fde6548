// The kernels of this library: names as in NCCL's own module (mangled, with the type of the one 4 KiB argument), because
// tools recognise collectives by them.
#pragma once
#include "nccl_types.h"

#include <string>

namespace simnode::nccl {

enum class Kind : uint32_t { kAllReduce, kReduce, kReduceScatter, kAllGather, kBroadcast, kSend, kRecv };
enum class Op : uint32_t { kSum, kProd, kMax, kMin, kAvg, kPreMulSum, kNone };

constexpr size_t kArgumentBytes = 4096;

const char* collective_name(Kind kind);
// Lives for ever.
const char* kernel_name(Kind kind, Op op, ncclDataType_t type);
// The module's text (image.h of the simulated driver).
const std::string& kernel_module();
// Calls `act` with each name, once per process.
const char* const* all_kernel_names(size_t* count);

}  // namespace simnode::nccl
