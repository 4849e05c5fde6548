// driver_many SECONDS: two threads launch 20 kernels and sleep for 20 µs, over and over: far more than hostprobe can record
// for a hundredth of a percent of the time. Tells `launches` and `sleeps`.
#include <atomic>

#include "driver_by_lookup.h"

namespace {

std::atomic<long> g_launches{2};  // while the graph was captured
std::atomic<long> g_sleeps{0};
std::atomic<bool> g_done{false};
Driver g_driver;
DriverState g_state;

void* launch_many(void*) {
  long launches = 0, sleeps = 0;
  check(g_driver.set_current(g_state.context), "cuCtxSetCurrent");
  for (; !g_done; ++sleeps, launches += 20) {
    for (int i = 0; i < 20; ++i)
      check(g_driver.launch(g_state.kernel, 7, 1, 1, 32, 1, 1, 0, g_state.stream, nullptr, nullptr), "cuLaunchKernel");
    usleep(20);
  }
  g_launches += launches;
  g_sleeps += sleeps;
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  open_library(RTLD_NOW);
  g_driver = find_driver(find_by_dlsym, false);
  g_state = set_up(g_driver);
  pthread_t threads[2];
  for (pthread_t& thread : threads) thread = start(launch_many);
  const timespec begin = soon(CLOCK_MONOTONIC, 0);
  while (soon(CLOCK_MONOTONIC, 0).tv_sec < begin.tv_sec + atoi(argv[1])) nap();
  g_done = true;
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  tell("launches %ld", g_launches.load());
  tell("sleeps %ld", g_sleeps.load());
}
