// Every function of nccl.h as this library exports it. See nccl_types.h and functions.def.
#pragma once
#include "nccl_types.h"

#define NCCL_VERSION_CODE 23203

#define SIMNODE_EXPORTED __attribute__((visibility("default")))

extern "C" {
#define NCCL_FUNCTION(result, name, parameters, arguments) \
  SIMNODE_EXPORTED result name parameters;                 \
  SIMNODE_EXPORTED result p##name parameters;
#include "functions.def"
#undef NCCL_FUNCTION
}
