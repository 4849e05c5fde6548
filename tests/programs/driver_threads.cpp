// driver_threads: four threads look the driver up and launch at the same time, each with functions it found itself.
#include "driver_by_lookup.h"

static pthread_barrier_t g_all_set_up;

// Nobody may synchronise the context while another thread captures, so all capture first.
static void* routine(void* argument) {
  const uintptr_t index = reinterpret_cast<uintptr_t>(argument);
  const FindFunction find = index % 2 == 0 ? find_by_dlsym : find_by_procaddress;
  const DriverState state = set_up(find_driver(find, index >= 2));
  pthread_barrier_wait(&g_all_set_up);
  for (int i = 0; i < 3; ++i) work_rounds(find_driver(find, index >= 2), state, 20);
  return nullptr;
}

int main() {
  open_library(RTLD_NOW);
  use_procaddress(true);
  pthread_barrier_init(&g_all_set_up, nullptr, 4);
  pthread_t threads[4];
  for (uintptr_t i = 0; i < 4; ++i) threads[i] = start(routine, reinterpret_cast<void*>(i));
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  printf("done\n");
}
