// The ranks of a job, as NCCL lets them talk.
#pragma once
#include "nccl_abi.h"
#include "plan.h"

#include <cuda.h>

class Ranks {
 public:
  Ranks(const Plan& plan, int rank);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  void all_reduce(CUdeviceptr values, size_t bytes, CUstream stream);
  void all_gather(CUdeviceptr shard, CUdeviceptr values, size_t bytes, CUstream stream);  // `bytes`: of all
  void reduce_scatter(CUdeviceptr values, CUdeviceptr shard, size_t bytes, CUstream stream);
  void send(CUdeviceptr values, size_t bytes, int to, CUstream stream);
  void receive(CUdeviceptr values, size_t bytes, int from, CUstream stream);
  void begin_group();
  void end_group();

 private:
  void check(ncclResult_t result, const char* call) const;
  ncclUniqueId meet(int rank) const;
  template <typename Function>
  void find(const char* name, Function* function);

  int ranks_;
  void* library_ = nullptr;
  ncclComm_t all_ = nullptr;
  decltype(&ncclGetErrorString) error_text_ = nullptr;
  decltype(&ncclGetUniqueId) unique_id_ = nullptr;
  decltype(&ncclCommInitRank) init_ = nullptr;
  decltype(&ncclCommDestroy) destroy_ = nullptr;
  decltype(&ncclAllReduce) all_reduce_ = nullptr;
  decltype(&ncclAllGather) all_gather_ = nullptr;
  decltype(&ncclReduceScatter) reduce_scatter_ = nullptr;
  decltype(&ncclSend) send_ = nullptr;
  decltype(&ncclRecv) receive_ = nullptr;
  decltype(&ncclGroupStart) begin_group_ = nullptr;
  decltype(&ncclGroupEnd) end_group_ = nullptr;
};
