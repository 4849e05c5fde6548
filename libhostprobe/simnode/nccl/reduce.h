// The arithmetic of reductions, as the device would do it, over contiguous elements. 8- and 16-bit floating point is
// added up in 32 bits and rounded once, to nearest even; integers wrap around.
#pragma once
#include "kernel_names.h"

namespace simnode::nccl {

size_t bytes_of(ncclDataType_t type);

// to[i] = op over all sources' [i]; kAvg divides by the number of sources, kPreMulSum only adds (see pre_multiply).
void reduce(Op op, ncclDataType_t type, void* to, const void* const* from, int sources, size_t count);

// to[i] = from[i] * *scalar, in the type.
void pre_multiply(ncclDataType_t type, void* to, const void* from, const void* scalar, size_t count);

}  // namespace simnode::nccl
