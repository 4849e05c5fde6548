// SIMNODE_ENTRY(name) opens the model of one exported driver function. generate_entries.py finds it by this very text,
// writes the exported shell around it, and leaves every function without one to answer CUDA_ERROR_NOT_SUPPORTED.
// A function that has a `_ptds` form (a synchronous copy) takes the default stream of the caller as its first argument.
#pragma once
#ifndef __CUDA_API_VERSION_INTERNAL
#error "simnode: compile with __CUDA_API_VERSION_INTERNAL, or cuda.h renames the entry points"
#endif
#include <cuda.h>

#define SIMNODE_ENTRY(name) CUresult entry_##name
