#include "node_test.h"

#include <atomic>
#include <thread>

using Events = NodeTest;

// Everything is submitted while the stream is held, so the modelled time cannot depend on this machine.
TEST_F(Events, TimeIsExactlyTheModelledTime) {
  CUstream one = stream();
  Gate gate;
  OK(cuLaunchHostFunc(one, Gate::wait, &gate));
  CUevent start = recorded(one);
  for (int i = 0; i < 7; ++i) OK(launch("k100", one));
  CUevent middle = recorded(one);
  for (int i = 0; i < 3; ++i) OK(launch("k1000", one));
  OK(launch("k10", one));
  CUevent end = recorded(one);
  gate.open = true;
  OK(cuEventSynchronize(end));
  EXPECT_FLOAT_EQ(elapsed_us(start, middle), 700);
  EXPECT_FLOAT_EQ(elapsed_us(middle, end), 3010);
  EXPECT_FLOAT_EQ(elapsed_us(start, end), 3710);
}

// Without an effect in the stream nothing is queued and no thread takes part: the other way through the model.
TEST_F(Events, BehindALongKernelTimeIsExactWithoutAQueue) {
  CUstream one = stream();
  OK(launch("slow", one));
  CUevent start = recorded(one);
  for (int i = 0; i < 5; ++i) OK(launch("k100", one));
  CUevent end = recorded(one);
  if (cuEventQuery(start) == CUDA_SUCCESS) GTEST_SKIP() << "this machine took longer to submit than the kernel lasts";
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
  Gate gate;
  OK(cuLaunchHostFunc(one, Gate::wait, &gate));
  CUevent late = recorded(one);
  EXPECT_EQ(cuEventElapsedTime(&ms, done, late), CUDA_ERROR_NOT_READY);
  gate.open = true;
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
