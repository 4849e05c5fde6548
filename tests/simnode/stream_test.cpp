#include "node_test.h"
#include "simnode.h"

#include <atomic>
#include <thread>

using Streams = NodeTest;

namespace {

struct Note {
  std::vector<int>* order;
  int number;
  static void CUDA_CB take(void* note) {
    auto* self = static_cast<Note*>(note);
    self->order->push_back(self->number);
  }
};

// Modelled time of kernels and copies, once on a quiet machine and once while every CPU is kept busy three times over.
TEST_F(NodeTest, ModelledTimeDoesNotDependOnHowBusyTheMachineIs) {
  void* pinned;
  CUdeviceptr memory;
  CUstream stream;
  CUevent begin, end;
  OK(cuMemAllocHost(&pinned, 1 << 16));
  OK(cuMemAlloc(&memory, 1 << 16));
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  OK(cuEventCreate(&begin, 0));
  OK(cuEventCreate(&end, 0));
  CUfunction kernel = function("k100");
  auto modelled_ms = [&] {
    Gate gate;
    EXPECT_EQ(cuLaunchHostFunc(stream, Gate::wait, &gate), CUDA_SUCCESS);
    EXPECT_EQ(cuEventRecord(begin, stream), CUDA_SUCCESS);
    for (int i = 0; i < 50; ++i) {
      EXPECT_EQ(launch(kernel, stream), CUDA_SUCCESS);
      EXPECT_EQ(cuMemcpyHtoDAsync(memory, pinned, 1 << 16, stream), CUDA_SUCCESS);
    }
    EXPECT_EQ(cuEventRecord(end, stream), CUDA_SUCCESS);
    gate.open = true;
    EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
    float ms = -1;
    EXPECT_EQ(cuEventElapsedTime(&ms, begin, end), CUDA_SUCCESS);
    return ms;
  };
  float quiet_ms = modelled_ms();
  EXPECT_GT(quiet_ms, 5);
  std::atomic<bool> stop{false};
  std::vector<std::thread> load;
  for (unsigned i = 0; i < 3 * std::thread::hardware_concurrency(); ++i)
    load.emplace_back([&stop] {
      while (!stop) continue;
    });
  EXPECT_FLOAT_EQ(modelled_ms(), quiet_ms);
  stop = true;
  for (std::thread& thread : load) thread.join();
}

}  // namespace

TEST_F(Streams, RunTheirWorkInOrder) {
  CUstream one = stream();
  std::vector<int> order;
  std::vector<Note> notes;
  for (int i = 0; i < 50; ++i) notes.push_back({&order, i});
  for (Note& note : notes) {
    OK(launch("k10", one));
    OK(cuLaunchHostFunc(one, Note::take, &note));
  }
  OK(cuStreamSynchronize(one));
  ASSERT_EQ(order.size(), 50u);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST_F(Streams, HostFunctionsRunOnAnotherThread) {
  CUstream one = stream();
  std::thread::id where;
  OK(cuLaunchHostFunc(
      one, [](void* out) { *static_cast<std::thread::id*>(out) = std::this_thread::get_id(); }, &where));
  OK(cuStreamSynchronize(one));
  EXPECT_NE(where, std::thread::id());
  EXPECT_NE(where, std::this_thread::get_id());
}

TEST_F(Streams, CallbacksGetTheirStream) {
  CUstream one = stream();
  struct Seen {
    CUstream stream;
    CUresult result;
  } seen{nullptr, CUDA_ERROR_UNKNOWN};
  OK(cuStreamAddCallback(
      one,
      [](CUstream handle, CUresult result, void* out) {
        *static_cast<Seen*>(out) = {handle, result};
      },
      &seen, 0));
  OK(cuStreamSynchronize(one));
  EXPECT_EQ(seen.stream, one);
  EXPECT_EQ(seen.result, CUDA_SUCCESS);
  EXPECT_EQ(cuStreamAddCallback(one, nullptr, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Streams, AreConcurrent) {
  CUstream one = stream(), two = stream();
  Gate gate;
  OK(cuLaunchHostFunc(one, Gate::wait, &gate));
  OK(launch("k100", two));
  OK(cuStreamSynchronize(two));  // would hang if `two` waited for `one`
  EXPECT_EQ(cuStreamQuery(one), CUDA_ERROR_NOT_READY);
  gate.open = true;
  OK(cuStreamSynchronize(one));
  EXPECT_EQ(cuStreamQuery(one), CUDA_SUCCESS);
}

TEST_F(Streams, OverlapInVirtualTime) {
  CUstream one = stream(), two = stream();
  Gate gate;
  CUevent start = event();
  OK(cuLaunchHostFunc(one, Gate::wait, &gate));
  OK(cuEventRecord(start, one));
  OK(cuStreamWaitEvent(two, start, 0));
  for (int i = 0; i < 10; ++i) {
    OK(launch("k1000", one));
    OK(launch("k1000", two));
  }
  CUevent end_one = recorded(one), end_two = recorded(two);
  gate.open = true;
  OK(cuCtxSynchronize());
  EXPECT_FLOAT_EQ(elapsed_us(start, end_one), 10000);
  EXPECT_FLOAT_EQ(elapsed_us(start, end_two), 10000);
}

TEST_F(Streams, WaitForEventsOfOthers) {
  CUstream one = stream(), two = stream();
  Gate gate;
  std::vector<int> order;
  Note first{&order, 1}, second{&order, 2};
  OK(cuLaunchHostFunc(one, Gate::wait, &gate));
  OK(cuLaunchHostFunc(one, Note::take, &first));
  CUevent done = recorded(one);
  OK(cuStreamWaitEvent(two, done, 0));
  OK(cuLaunchHostFunc(two, Note::take, &second));
  gate.open = true;
  OK(cuStreamSynchronize(two));
  OK(cuStreamSynchronize(one));
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST_F(Streams, AWaitCapturesTheRecordOfItsTime) {
  CUstream one = stream(), two = stream(), three = stream();
  Gate gate;
  CUevent mark = recorded(one);  // long past
  OK(cuStreamWaitEvent(two, mark, 0));
  OK(cuLaunchHostFunc(three, Gate::wait, &gate));
  OK(cuEventRecord(mark, three));  // recorded again, behind the gate
  OK(launch("k10", two));
  OK(cuStreamSynchronize(two));  // must not wait for the second record
  EXPECT_EQ(cuEventQuery(mark), CUDA_ERROR_NOT_READY);
  gate.open = true;
  OK(cuStreamSynchronize(three));
}

TEST_F(Streams, LegacyStreamWaitsForBlockingStreamsAndTheyForIt) {
  CUstream blocking = stream(CU_STREAM_DEFAULT), free = stream(CU_STREAM_NON_BLOCKING);
  Gate gate;
  std::vector<int> order;
  Note first{&order, 1}, second{&order, 2}, third{&order, 3};
  OK(cuLaunchHostFunc(blocking, Gate::wait, &gate));
  OK(cuLaunchHostFunc(blocking, Note::take, &first));
  OK(cuLaunchHostFunc(CU_STREAM_LEGACY, Note::take, &second));
  OK(cuLaunchHostFunc(blocking, Note::take, &third));
  OK(launch("k10", free));
  OK(cuStreamSynchronize(free));  // a non-blocking stream takes no part
  gate.open = true;
  OK(cuCtxSynchronize());
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST_F(Streams, LegacyStreamIsNotReadyWhileItWorks) {
  OK(launch("slow", nullptr));
  EXPECT_EQ(cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cuStreamQuery(CU_STREAM_LEGACY), CUDA_ERROR_NOT_READY);
  OK(cuStreamSynchronize(nullptr));
  EXPECT_EQ(cuStreamQuery(nullptr), CUDA_SUCCESS);
}

TEST_F(Streams, PerThreadStreamsOfTwoThreadsAreTwo) {
  Gate gate;
  OK(cuLaunchHostFunc(CU_STREAM_PER_THREAD, Gate::wait, &gate));
  std::thread([&] {
    EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
    EXPECT_EQ(launch("k10", CU_STREAM_PER_THREAD), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(CU_STREAM_PER_THREAD), CUDA_SUCCESS);
  }).join();
  EXPECT_EQ(cuStreamQuery(CU_STREAM_PER_THREAD), CUDA_ERROR_NOT_READY);
  gate.open = true;
  OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
}

TEST_F(Streams, DestroyedWithWorkFinishIt) {
  CUstream one = stream();
  Gate gate;
  std::vector<int> order;
  Note note{&order, 1};
  OK(cuLaunchHostFunc(one, Gate::wait, &gate));
  OK(cuLaunchHostFunc(one, Note::take, &note));
  CUevent end = recorded(one);
  OK(cuStreamDestroy(one));
  EXPECT_EQ(cuStreamSynchronize(one), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamDestroy(one), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launch("k10", one), CUDA_ERROR_INVALID_HANDLE);
  gate.open = true;
  OK(cuEventSynchronize(end));
  EXPECT_EQ(order, (std::vector<int>{1}));
}

TEST_F(Streams, OfAnotherContextAreRefusedForItsKernels) {
  CUcontext other;
  CUstream mine = stream();
  OK(make_context(&other, 0, 1));
  EXPECT_EQ(launch("k10", nullptr), CUDA_ERROR_INVALID_HANDLE);  // the function belongs to the first context
  EXPECT_EQ(cuEventRecord(event(), mine), CUDA_ERROR_INVALID_HANDLE);
  OK(cuCtxDestroy(other));
}

TEST_F(Streams, TellTheirProperties) {
  CUstream one;
  OK(cuStreamCreateWithPriority(&one, CU_STREAM_NON_BLOCKING, -100));
  int least, greatest, priority;
  unsigned flags;
  unsigned long long id, other;
  CUcontext owner;
  OK(cuCtxGetStreamPriorityRange(&least, &greatest));
  OK(cuStreamGetPriority(one, &priority));
  OK(cuStreamGetFlags(one, &flags));
  OK(cuStreamGetId(one, &id));
  OK(cuStreamGetId(nullptr, &other));
  OK((cuStreamGetCtx)(one, &owner));
  EXPECT_EQ(priority, greatest);
  EXPECT_EQ(flags, static_cast<unsigned>(CU_STREAM_NON_BLOCKING));
  EXPECT_NE(id, other);
  EXPECT_EQ(owner, context_);
  EXPECT_EQ(cuStreamCreate(&one, 0x80), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Streams, WaitForValuesInMemory) {
  CUstream one = stream(), two = stream();
  CUdeviceptr flag = allocate(8);
  OK(cuMemsetD32(flag, 0, 2));
  OK(cuCtxSynchronize());
  OK(cuStreamWaitValue32(one, flag, 5, CU_STREAM_WAIT_VALUE_GEQ));
  CUevent after = recorded(one);
  EXPECT_EQ(cuEventQuery(after), CUDA_ERROR_NOT_READY);
  OK(cuStreamWriteValue32(two, flag, 5, 0));
  OK(cuEventSynchronize(after));
  EXPECT_EQ(cuStreamWaitValue32(one, flag + 1, 5, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Streams, ManyThreadsMayUseOne) {
  CUstream one = stream();
  std::atomic<int> ran{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      cuCtxSetCurrent(context_);
      for (int i = 0; i < 200; ++i) {
        launch("k10", one);
        cuLaunchHostFunc(
            one, [](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &ran);
      }
    });
  for (std::thread& thread : threads) thread.join();
  OK(cuStreamSynchronize(one));
  EXPECT_EQ(ran, 800);
}
