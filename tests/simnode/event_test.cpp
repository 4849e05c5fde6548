#include "node_test.h"

#include <atomic>
#include <thread>

using Events = NodeTest;

namespace {

void CUDA_CB hold(void* open) {
  while (!*static_cast<std::atomic<bool>*>(open)) std::this_thread::yield();
}

}  // namespace

// Everything is submitted while the stream is held, so the modelled time cannot depend on this machine.
TEST_F(Events, TimeIsExactlyTheModelledTime) {
  CUstream one = stream();
  std::atomic<bool> open{false};
  OK(cuLaunchHostFunc(one, hold, &open));
  CUevent start = recorded(one);
  for (int i = 0; i < 7; ++i) OK(launch("k100", one));
  CUevent middle = recorded(one);
  for (int i = 0; i < 3; ++i) OK(launch("k1000", one));
  OK(launch("k10", one));
  CUevent end = recorded(one);
  open = true;
  OK(cuEventSynchronize(end));
  EXPECT_FLOAT_EQ(elapsed_us(start, middle), 700);
  EXPECT_FLOAT_EQ(elapsed_us(middle, end), 3010);
  EXPECT_FLOAT_EQ(elapsed_us(start, end), 3710);
}

// The busy stream's own clock: no gap may come in between, however late this thread submits.
TEST_F(Events, BehindALongKernelTimeIsExactWithoutHolding) {
  CUstream one = stream();
  OK(launch("slow", one));
  CUevent start = recorded(one);
  for (int i = 0; i < 5; ++i) OK(launch("k100", one));
  CUevent end = recorded(one);
  ASSERT_EQ(cuEventQuery(start), CUDA_ERROR_NOT_READY) << "this machine was too slow for the test to mean anything";
  OK(cuEventSynchronize(end));
  EXPECT_FLOAT_EQ(elapsed_us(start, end), 500);
}

TEST_F(Events, NeverRecordedAreComplete) {
  CUevent one = event();
  EXPECT_EQ(cuEventQuery(one), CUDA_SUCCESS);
  EXPECT_EQ(cuEventSynchronize(one), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(nullptr, one, 0), CUDA_SUCCESS);
}

TEST_F(Events, ElapsedTimeSaysWhatIsMissing) {
  CUstream one = stream();
  CUevent plain = event(), untimed = event(CU_EVENT_DISABLE_TIMING), done = recorded(one);
  OK(cuEventRecord(untimed, one));
  float ms;
  EXPECT_EQ(cuEventElapsedTime(&ms, plain, done), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventElapsedTime(&ms, done, untimed), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventElapsedTime(nullptr, done, done), CUDA_ERROR_INVALID_VALUE);
  OK(launch("slow", one));
  CUevent late = recorded(one);
  EXPECT_EQ(cuEventElapsedTime(&ms, done, late), CUDA_ERROR_NOT_READY);
  OK(cuEventSynchronize(late));
  OK(cuEventElapsedTime(&ms, done, late));
}

TEST_F(Events, BlockingOnesWaitToo) {
  CUstream one = stream();
  CUevent end = event(CU_EVENT_BLOCKING_SYNC);
  OK(launch("k1000", one));
  OK(cuEventRecord(end, one));
  OK(cuEventSynchronize(end));
  EXPECT_EQ(cuEventQuery(end), CUDA_SUCCESS);
}

TEST_F(Events, BadHandlesAndFlagsAreErrors) {
  CUevent made;
  auto wild = reinterpret_cast<CUevent>(0x10);
  EXPECT_EQ(cuEventCreate(&made, 0x100), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuEventCreate(&made, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuEventCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuEventRecord(wild, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventSynchronize(wild), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventDestroy(wild), CUDA_ERROR_INVALID_HANDLE);
  made = event();
  OK(cuEventDestroy(made));
  EXPECT_EQ(cuEventDestroy(made), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventRecord(made, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventRecordWithFlags(event(), nullptr, 0x40), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Events, MayBeDestroyedBeforeTheyHappen) {
  CUstream one = stream(), two = stream();
  OK(launch("k1000", one));
  CUevent end = recorded(one);
  OK(cuStreamWaitEvent(two, end, 0));
  OK(cuEventDestroy(end));
  OK(cuStreamSynchronize(two));
  EXPECT_EQ(cuStreamQuery(one), CUDA_SUCCESS);  // `two` waited for it all the same
}
