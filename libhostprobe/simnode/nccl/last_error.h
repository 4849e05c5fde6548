// What went wrong, for ncclGetLastError and, under NCCL_DEBUG=WARN or more, for stderr.
#pragma once
#include "nccl_types.h"

namespace simnode::nccl {

// Keeps the text as the last error and returns `result`, so that a check is one line.
__attribute__((format(printf, 2, 3))) ncclResult_t fail(ncclResult_t result, const char* format, ...);

const char* last_error();

}  // namespace simnode::nccl
