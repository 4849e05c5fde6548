// Memory and events that processes share by handles.
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "node_test.h"
#include "simnode.h"

namespace {

// simnode_program, offering memory and an event (program.cpp, offer).
class Exporter {
 public:
  Exporter() {
    int in[2], out[2];
    EXPECT_EQ(pipe(in), 0);
    EXPECT_EQ(pipe(out), 0);
    pid_ = fork();
    if (pid_ == 0) {
      setenv("SIMNODE_KERNEL_US", "gemm*=400000", 1);
      dup2(in[0], 0);
      dup2(out[1], 1);
      for (int fd : {in[0], in[1], out[0], out[1]}) close(fd);
      execl(SIMNODE_PROGRAM, SIMNODE_PROGRAM, "offer", nullptr);
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    to_ = fdopen(in[1], "w");
    from_ = fdopen(out[0], "r");
    read_handle(memory.reserved);
    read_handle(event.reserved);
  }
  ~Exporter() { end(SIGKILL); }

  unsigned tell(const char* what) {
    fprintf(to_, "%s\n", what);
    fflush(to_);
    unsigned number = 0;
    EXPECT_EQ(fscanf(from_, "%u", &number), 1);
    return number;
  }
  void end(int signal) {
    if (pid_ <= 0) return;
    kill(pid_, signal);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
    fclose(to_);
    fclose(from_);
  }

  CUipcMemHandle memory{};
  CUipcEventHandle event{};

 private:
  void read_handle(char (&bytes)[64]) {
    for (char& byte : bytes) {
      unsigned value = 0;
      EXPECT_EQ(fscanf(from_, "%2x", &value), 1);
      byte = static_cast<char>(value);
    }
  }

  pid_t pid_;
  FILE *to_, *from_;
};

class Ipc : public NodeTest {
 protected:
  Exporter other_;
};

TEST_F(Ipc, MemoryIsTheSameInBothProcesses) {
  CUdeviceptr memory, again;
  OK(cuIpcOpenMemHandle(&memory, other_.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  std::vector<unsigned> values(5000);
  OK(cuMemcpyDtoH(values.data(), memory, 20000));
  EXPECT_EQ(values, std::vector<unsigned>(5000, 4711));
  OK(cuMemsetD32(memory, 815, 1));
  OK(cuCtxSynchronize());
  EXPECT_EQ(other_.tell("read"), 815u);
  OK(cuIpcOpenMemHandle(&again, other_.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  EXPECT_EQ(again, memory) << "opened twice, counted twice";
  unsigned type = 0;
  OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory));
  EXPECT_EQ(type, static_cast<unsigned>(CU_MEMORYTYPE_DEVICE));
  EXPECT_EQ(cuMemFree(memory), CUDA_ERROR_INVALID_VALUE) << "it belongs to the other";
  OK(cuIpcCloseMemHandle(memory));
  OK(cuMemsetD32(memory, 816, 1));
  OK(cuCtxSynchronize());
  OK(cuIpcCloseMemHandle(memory));
  EXPECT_EQ(cuIpcCloseMemHandle(memory), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD32(memory, 817, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(other_.tell("read"), 816u);
}

TEST_F(Ipc, EventsTellWhenTheOtherGotThere) {
  CUevent event;
  CUstream stream;
  OK(cuIpcOpenEventHandle(&event, other_.event));
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  EXPECT_EQ(cuEventQuery(event), CUDA_SUCCESS) << "never recorded";
  other_.tell("slow");
  OK(cuStreamWaitEvent(stream, event, 0));
  OK(launch(function("k10"), stream));
  OK(cuEventSynchronize(event));
  EXPECT_EQ(cuEventQuery(event), CUDA_SUCCESS);
  OK(cuStreamSynchronize(stream));
  float ms;
  EXPECT_EQ(cuEventElapsedTime(&ms, event, event), CUDA_ERROR_INVALID_HANDLE) << "shared events have no timing";
  OK(cuEventDestroy(event));
}

TEST_F(Ipc, EventsOfOneProcessHoldStreamsOfAnother) {
  CUevent event;
  CUstream stream;
  OK(cuIpcOpenEventHandle(&event, other_.event));
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  for (int i = 0; i < 8; ++i) other_.tell("slow");  // three seconds of work
  OK(cuStreamWaitEvent(stream, event, 0));
  OK(launch(function("k10"), stream));
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
}

// When a waiting stream's thread looks has nothing to do with when the other process got there.
TEST_F(Ipc, AStreamGoesOnAtTheMomentOfTheOthersEventNotWhenItSeesIt) {
  CUevent event;
  OK(cuIpcOpenEventHandle(&event, other_.event));
  static std::atomic<long long> starts[2];
  simnode_kernel note = [](const simnode_launch* launch, void*) {
    starts[starts[0] == 0 ? 0 : 1] = launch->start_ns;
    return 0;
  };
  ASSERT_EQ(simnode_register("k100", note, nullptr), 1);
  other_.tell("slow");
  CUstream one = stream(), two = stream();
  for (CUstream each : {one, two}) {
    OK(cuStreamWaitEvent(each, event, 0));
    OK(launch("k100", each));
  }
  OK(cuStreamSynchronize(one));
  OK(cuStreamSynchronize(two));
  simnode_register("k100", nullptr, nullptr);
  EXPECT_NE(starts[0], 0);
  EXPECT_EQ(starts[0], starts[1]);
}

TEST_F(Ipc, HandlesThatCannotBeAreRefused) {
  CUdeviceptr memory;
  CUevent event, own_event;
  CUipcMemHandle nonsense{}, own{};
  CUipcEventHandle own_event_handle{}, no_event{};
  memset(&nonsense, 0x5a, sizeof nonsense);
  EXPECT_EQ(cuIpcOpenMemHandle(&memory, nonsense, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuIpcOpenMemHandle(&memory, other_.memory, 77), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuIpcOpenMemHandle(nullptr, other_.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuIpcOpenEventHandle(&event, no_event), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuIpcCloseMemHandle(4096), CUDA_ERROR_INVALID_VALUE);
  OK(cuMemAlloc(&memory, 4096));
  OK(cuIpcGetMemHandle(&own, memory));
  CUdeviceptr mine;
  EXPECT_EQ(cuIpcOpenMemHandle(&mine, own, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), CUDA_ERROR_INVALID_CONTEXT);
  void* pinned;
  OK(cuMemAllocHost(&pinned, 4096));
  EXPECT_EQ(cuIpcGetMemHandle(&own, reinterpret_cast<CUdeviceptr>(pinned)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuIpcGetMemHandle(&own, 12345), CUDA_ERROR_INVALID_VALUE);
  OK(cuEventCreate(&own_event, CU_EVENT_DISABLE_TIMING));
  EXPECT_EQ(cuIpcGetEventHandle(&own_event_handle, own_event), CUDA_ERROR_INVALID_VALUE) << "not made for sharing";
  EXPECT_EQ(cuIpcGetEventHandle(&own_event_handle, nullptr), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Ipc, AnExporterThatDiedIsAnErrorAndWhatWasOpenStays) {
  CUdeviceptr memory, late;
  OK(cuIpcOpenMemHandle(&memory, other_.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  other_.end(SIGKILL);
  CUevent event;
  EXPECT_EQ(cuIpcOpenEventHandle(&event, other_.event), CUDA_ERROR_INVALID_HANDLE);
  unsigned value = 0;
  OK(cuMemcpyDtoH(&value, memory, sizeof value));
  EXPECT_EQ(value, 4711u);
  OK(cuIpcCloseMemHandle(memory));
  EXPECT_EQ(cuIpcOpenMemHandle(&late, other_.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), CUDA_ERROR_INVALID_HANDLE);
}

}  // namespace
