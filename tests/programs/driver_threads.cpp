// driver_threads: four threads look the driver up and launch at the same time, each with functions it found itself.
#include "driver_by_lookup.h"

static void* routine(void* argument) {
  const uintptr_t index = reinterpret_cast<uintptr_t>(argument);
  const FindFunction find = index % 2 == 0 ? find_by_dlsym : find_by_procaddress;
  for (int i = 0; i < 3; ++i) work_with(find_driver(find, index >= 2), 20);
  return nullptr;
}

int main() {
  open_library(RTLD_NOW);
  use_procaddress(true);
  pthread_t threads[4];
  for (uintptr_t i = 0; i < 4; ++i) threads[i] = start(routine, reinterpret_cast<void*>(i));
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  printf("done\n");
}
