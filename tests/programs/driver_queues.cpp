// driver_queues MODE MILLISECONDS: launches for so long and tells how many launches there were and how many of them found their
// stream empty, as it sees itself. full: always more work than the stream can do · empty: one at a time · mixed: four at a
// time · captures: while another thread captures graphs, in the mode that forbids everybody the most.
#include <atomic>

#include "driver_by_plt.h"

static std::atomic<bool> g_done{false};
static unsigned long g_launches, g_empty;

static uint64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

static void spin(uint64_t nanoseconds) {
  for (const uint64_t end = now_ns() + nanoseconds; now_ns() < end;) {
  }
}

static void launch(const Driver& driver, const DriverState& state, CUstream stream, bool asks) {
  if (asks) {
    const CUresult answer = cuStreamQuery(stream);
    if (answer != CUDA_ERROR_NOT_READY) check(answer, "cuStreamQuery");
    g_empty += answer == CUDA_SUCCESS;
  }
  check(driver.launch(state.kernel, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr), "cuLaunchKernel");
  ++g_launches;
}

struct Capturing {
  Driver driver;
  DriverState state;
};

static void* captures(void* argument) {
  const Capturing& all = *static_cast<Capturing*>(argument);
  CUstream stream = nullptr;
  check(cuCtxSetCurrent(all.state.context), "cuCtxSetCurrent");
  check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  while (!g_done) {
    CUgraph graph = nullptr;
    check(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture");
    for (int i = 0; i < 40; ++i)
      check(all.driver.launch(all.state.kernel, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr), "captured launch");
    spin(200000);
    check(cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
    check(cuGraphDestroy(graph), "cuGraphDestroy");
    spin(50000);
  }
  return nullptr;
}

static void run(const char* mode, const Driver& driver, const DriverState& state, uint64_t end) {
  const bool full = strcmp(mode, "full") == 0, asks = strcmp(mode, "captures") != 0;
  const int batch = strcmp(mode, "empty") == 0 ? 1 : 4;
  while (now_ns() < end) {
    for (int i = 0; i < batch; ++i) launch(driver, state, state.stream, asks);
    if (full)
      spin(200000);
    else
      check(driver.stream_synchronize(state.stream), "cuStreamSynchronize");
  }
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  Capturing all = {driver_by_plt(), {}};
  all.state = set_up(all.driver);
  check(cuCtxSynchronize(), "cuCtxSynchronize");
  pthread_t capturer;
  const bool with_captures = strcmp(argv[1], "captures") == 0;
  if (with_captures) pthread_create(&capturer, nullptr, captures, &all);
  run(argv[1], all.driver, all.state, now_ns() + strtoull(argv[2], nullptr, 10) * 1000000u);
  g_done = true;
  if (with_captures) pthread_join(capturer, nullptr);
  check(cuCtxSynchronize(), "cuCtxSynchronize");
  tell("launches %lu", g_launches);
  tell("empty %lu", g_empty);
  printf("done\n");
}
