// NCCL as programs reach it: opened when the program runs (RTLD_GLOBAL, or RTLD_LOCAL as PyTorch 2.15 does), or linked
// (train_parallel_linked, TRAIN_PARALLEL_LINKED). Only what train_parallel calls.
#pragma once
#ifdef TRAIN_PARALLEL_LINKED
#include "nccl_abi.h"
#else
#include "nccl_types.h"
#endif

#include <cuda.h>
#include <dlfcn.h>
#include <cstdio>
#include <cstdlib>

class Collectives {
 public:
  explicit Collectives(bool local) {
#ifdef TRAIN_PARALLEL_LINKED
#define TRAIN_PARALLEL_FIND(name, member) member = name
    if (local) fprintf(stderr, "train_parallel: this one is linked to libnccl.so.2; --nccl is ignored.\n");
#else
#define TRAIN_PARALLEL_FIND(name, member) find(#name, &member)
    open(local);
#endif
    TRAIN_PARALLEL_FIND(ncclGetErrorString, error_text_);
    TRAIN_PARALLEL_FIND(ncclGetUniqueId, unique_id);
    TRAIN_PARALLEL_FIND(ncclCommInitRank, init_rank);
    TRAIN_PARALLEL_FIND(ncclCommSplit, split);
    TRAIN_PARALLEL_FIND(ncclCommDestroy, destroy);
    TRAIN_PARALLEL_FIND(ncclAllReduce, all_reduce);
    TRAIN_PARALLEL_FIND(ncclAllGather, all_gather);
    TRAIN_PARALLEL_FIND(ncclReduceScatter, reduce_scatter);
    TRAIN_PARALLEL_FIND(ncclSend, send);
    TRAIN_PARALLEL_FIND(ncclRecv, recv);
  }

  void check(ncclResult_t result, const char* call) const {
    if (result == ncclSuccess) return;
    fprintf(stderr, "train_parallel: %s failed: %s. Set NCCL_DEBUG=WARN for the reason.\n", call, error_text_(result));
    exit(1);
  }

  ncclResult_t (*unique_id)(ncclUniqueId*);
  ncclResult_t (*init_rank)(ncclComm_t*, int, ncclUniqueId, int);
  ncclResult_t (*split)(ncclComm_t, int, int, ncclComm_t*, ncclConfig_t*);
  ncclResult_t (*destroy)(ncclComm_t);
  ncclResult_t (*all_reduce)(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, CUstream);
  ncclResult_t (*all_gather)(const void*, void*, size_t, ncclDataType_t, ncclComm_t, CUstream);
  ncclResult_t (*reduce_scatter)(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, CUstream);
  ncclResult_t (*send)(const void*, size_t, ncclDataType_t, int, ncclComm_t, CUstream);
  ncclResult_t (*recv)(void*, size_t, ncclDataType_t, int, ncclComm_t, CUstream);

 private:
#ifndef TRAIN_PARALLEL_LINKED
  void open(bool local) {
    library_ = dlopen("libnccl.so.2", RTLD_NOW | (local ? RTLD_LOCAL : RTLD_GLOBAL));
    if (library_ != nullptr) return;
    fprintf(
        stderr,
        "train_parallel: no NCCL: %s. Run it as `hostprobe run --simgpu N -- train_parallel`, or where libnccl.so.2 is "
        "installed.\n",
        dlerror());
    exit(1);
  }

  template <class Function>
  void find(const char* name, Function* function) {
    *function = reinterpret_cast<Function>(dlsym(library_, name));
    if (*function != nullptr) return;
    fprintf(stderr, "train_parallel: this libnccl.so.2 has no %s. Use NCCL 2.18 or later.\n", name);
    exit(1);
  }

  void* library_ = nullptr;
#endif
  const char* (*error_text_)(ncclResult_t);
};
