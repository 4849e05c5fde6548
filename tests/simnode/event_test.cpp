#include "node_test.h"
#include "simnode.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>
#include <atomic>
#include <fstream>
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

// As a machine whose neighbours leave the device's threads no CPU: what they do is done some 20 ms too late, each time.
TEST_F(Events, TimeIsTheModelledTimeHoweverLateTheDevicesThreadsAre) {
  static std::atomic<int> ran;
  simnode_kernel late = [](const simnode_launch*, void*) {
    usleep(20000);
    ++ran;
    return 0;
  };
  ASSERT_EQ(simnode_register("k1000", late, nullptr), 1);
  CUstream one = stream(), two = stream();
  Gate gate;
  OK(cuLaunchHostFunc(one, Gate::wait, &gate));
  CUevent start = recorded(one);
  CUdeviceptr memory = allocate(1 << 20);
  OK(launch("k1000", one));
  OK(cuMemsetD32Async(memory, 7, 1 << 18, one));
  CUevent filled = recorded(one);
  OK(cuStreamWaitEvent(two, filled, 0));
  OK(launch("k1000", two));
  OK(launch("k100", two));
  CUevent there = recorded(two);
  OK(cuStreamWaitEvent(one, there, 0));
  OK(launch("k10", one));
  CUevent end = recorded(one);
  gate.open = true;
  OK(cuEventSynchronize(end));
  simnode_register("k1000", nullptr, nullptr);
  EXPECT_EQ(ran, 2);
  EXPECT_NEAR(elapsed_us(filled, there), 1100, 0.01);
  EXPECT_NEAR(elapsed_us(there, end), 10, 0.01);
  EXPECT_NEAR(elapsed_us(start, end), elapsed_us(start, filled) + 1110, 0.01);
  EXPECT_LT(elapsed_us(start, filled), 2000) << "the kernel and the fill, not the thread that was late";
}

int nice_of(int thread) { return getpriority(PRIO_PROCESS, static_cast<id_t>(thread)); }

std::vector<int> device_threads() {
  std::vector<int> found;
  DIR* folder = opendir("/proc/self/task");
  while (dirent* entry = readdir(folder)) {
    std::string name;
    std::getline(std::ifstream(std::string("/proc/self/task/") + entry->d_name + "/comm"), name);
    if (name == "simnode-stream") found.push_back(atoi(entry->d_name));
  }
  closedir(folder);
  return found;
}

// Where the process may raise them; the program's own code gets nothing of it.
TEST_F(Events, TheDevicesThreadsComeBeforeTheProgramsAndItsCallbacksDoNot) {
  CUstream one = stream();
  std::atomic<int> in_callback{99};
  OK(cuLaunchHostFunc(
      one, [](void* nice) { *static_cast<std::atomic<int>*>(nice) = nice_of(0); }, &in_callback));
  OK(cuStreamSynchronize(one));
  EXPECT_EQ(in_callback, nice_of(0));
  bool may_raise = false;
  std::thread([&] { may_raise = setpriority(PRIO_PROCESS, 0, nice_of(0) - 1) == 0; }).join();
  if (!may_raise) GTEST_SKIP() << "this user may not raise priorities";
  std::vector<int> all = device_threads();
  ASSERT_FALSE(all.empty());
  for (int thread : all) EXPECT_LT(nice_of(thread), nice_of(0)) << thread;
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
