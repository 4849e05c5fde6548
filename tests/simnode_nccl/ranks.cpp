// See ranks.h.
#include "ranks.h"

#include "../simnode/exact_times.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace ranks {

namespace {

void set_variables(int rank, int count, const Environment& environment) {
  make_times_exact();
  setenv("SIMNODE_GPUS", std::to_string(count).c_str(), 1);
  setenv("WORLD_SIZE", std::to_string(count).c_str(), 1);
  setenv("RANK", std::to_string(rank).c_str(), 1);
  setenv("LOCAL_RANK", std::to_string(rank).c_str(), 1);
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
}

// A rank that ends while others still work has died, as far as they can see.
void leave_together(Shared* shared, int survivors) {
  __atomic_fetch_add(&shared->finished, 1, __ATOMIC_ACQ_REL);
  while (__atomic_load_n(&shared->finished, __ATOMIC_ACQUIRE) < survivors &&
         __atomic_load_n(&shared->failed, __ATOMIC_ACQUIRE) == 0)
    usleep(500);
}

[[noreturn]] void be_rank(int rank, int count, Shared* shared, const std::function<void(const Rank&)>& body,
                          const Environment& environment, int survivors) {
  set_variables(rank, count, environment);
  Rank self{rank, count, shared, nullptr, nullptr};
  EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&self.context, rank), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(self.context), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamCreate(&self.stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  body(self);
  if (testing::Test::HasFailure()) __atomic_store_n(&shared->failed, 1, __ATOMIC_RELEASE);
  leave_together(shared, survivors);
  fflush(nullptr);
  _exit(testing::Test::HasFailure() ? 1 : 0);
}

bool expected_end(int status, bool dies) {
  if (dies) return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// In the order in which they end. After one that failed the others may wait for it for ever, as NCCL's do.
void await(std::vector<pid_t> pids, const std::vector<int>& dying) {
  for (size_t ended = 0; ended < pids.size(); ++ended) {
    int status = -1;
    pid_t pid = waitpid(-1, &status, 0);
    auto place = std::find(pids.begin(), pids.end(), pid);
    ASSERT_NE(place, pids.end()) << "waitpid answered " << pid;
    *place = 0;
    auto rank = static_cast<int>(place - pids.begin());
    bool dies = std::count(dying.begin(), dying.end(), rank) != 0;
    if (expected_end(status, dies)) continue;
    ADD_FAILURE() << "rank " << rank << " ended with wait status " << status << "; the others are stopped";
    for (pid_t other : pids)
      if (other != 0) kill(other, SIGKILL);
    while (waitpid(-1, &status, 0) > 0) continue;
    return;
  }
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
    if (pid == 0) be_rank(rank, count, shared, body, environment, count - static_cast<int>(dying.size()));
    pids.push_back(pid);
  }
  await(pids, dying);
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
