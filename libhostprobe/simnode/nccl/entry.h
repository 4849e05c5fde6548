// NCCL_ENTRY opens the model of one public function. As in NCCL the function is exported twice, strong as pncclX and weak as
// ncclX, so that a profiler may put itself in front (PMPI style). Each entrance is counted in SIMNODE_COUNTS as ncclX.
#pragma once
#include "driver.h"
#include "nccl_abi.h"

#define NCCL_ENTRY(result, name, parameters, arguments)                                       \
  static result model_##name parameters;                                                      \
  extern "C" SIMNODE_EXPORTED result p##name parameters {                                     \
    static simnode::nccl::Counter counter(#name);                                             \
    counter.add();                                                                            \
    return model_##name arguments;                                                            \
  }                                                                                           \
  extern "C" SIMNODE_EXPORTED __attribute__((weak, alias("p" #name))) result name parameters; \
  static result model_##name parameters
