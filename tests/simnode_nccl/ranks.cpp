// See ranks.h.
#include "ranks.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace ranks {

namespace {

void set_variables(int rank, int count, const Environment& environment) {
  setenv("SIMNODE_GPUS", std::to_string(count).c_str(), 1);
  setenv("WORLD_SIZE", std::to_string(count).c_str(), 1);
  setenv("RANK", std::to_string(rank).c_str(), 1);
  setenv("LOCAL_RANK", std::to_string(rank).c_str(), 1);
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
}

[[noreturn]] void be_rank(int rank, int count, Shared* shared, const std::function<void(const Rank&)>& body,
                          const Environment& environment) {
  set_variables(rank, count, environment);
  Rank self{rank, count, shared, nullptr, nullptr};
  EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&self.context, rank), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(self.context), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamCreate(&self.stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  body(self);
  fflush(nullptr);
  _exit(testing::Test::HasFailure() ? 1 : 0);
}

bool expected_end(int status, bool dies) {
  if (dies) return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

ncclUniqueId Rank::unique_id() const {
  if (rank == 0) {
    EXPECT_NCCL(ncclGetUniqueId(&shared->id));
    __atomic_store_n(&shared->id_ready, 1, __ATOMIC_RELEASE);
  }
  while (__atomic_load_n(&shared->id_ready, __ATOMIC_ACQUIRE) == 0) usleep(500);
  return shared->id;
}

ncclComm_t Rank::make_communicator() const {
  ncclComm_t communicator = nullptr;
  EXPECT_NCCL(ncclCommInitRank(&communicator, ranks, unique_id(), rank));
  return communicator;
}

void Rank::enter_stage(int number) const {
  __atomic_store_n(&shared->stage[rank], number, __ATOMIC_RELEASE);
  for (int i = 0; i < ranks; ++i)
    while (__atomic_load_n(&shared->stage[i], __ATOMIC_ACQUIRE) < number) usleep(500);
}

CUdeviceptr Rank::allocate(size_t bytes) const {
  CUdeviceptr pointer = 0;
  EXPECT_EQ(cuMemAlloc(&pointer, bytes), CUDA_SUCCESS);
  return pointer;
}

void Rank::synchronize() const { EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS); }

Shared run(int count, const std::function<void(const Rank&)>& body, const Environment& environment,
           const std::vector<int>& dying) {
  void* mapped = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(mapped, MAP_FAILED);
  auto* shared = static_cast<Shared*>(mapped);
  fflush(nullptr);
  std::vector<pid_t> pids;
  for (int rank = 0; rank < count; ++rank) {
    pid_t pid = fork();
    if (pid == 0) be_rank(rank, count, shared, body, environment);
    pids.push_back(pid);
  }
  for (int rank = 0; rank < count; ++rank) {
    int status = -1;
    EXPECT_EQ(waitpid(pids[static_cast<size_t>(rank)], &status, 0), pids[static_cast<size_t>(rank)]);
    bool dies = std::count(dying.begin(), dying.end(), rank) != 0;
    EXPECT_TRUE(expected_end(status, dies)) << "rank " << rank << " ended with wait status " << status;
  }
  Shared told = *shared;
  munmap(shared, sizeof(Shared));
  return told;
}

float timed_ms(const Rank& rank, const std::function<void()>& body) {
  CUevent begin, end;
  EXPECT_EQ(cuEventCreate(&begin, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  EXPECT_EQ(cuEventCreate(&end, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(begin, rank.stream), CUDA_SUCCESS);
  body();
  EXPECT_EQ(cuEventRecord(end, rank.stream), CUDA_SUCCESS);
  EXPECT_EQ(cuEventSynchronize(end), CUDA_SUCCESS);
  float ms = -1;
  EXPECT_EQ(cuEventElapsedTime(&ms, begin, end), CUDA_SUCCESS);
  cuEventDestroy(begin);
  cuEventDestroy(end);
  return ms;
}

}  // namespace ranks
