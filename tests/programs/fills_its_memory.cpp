// fills_its_memory: waits once, then takes 64 KiB pieces of memory until it has 24 MiB, with waits and a thread on the
// way. Tells the most address space it had, so that its test can set a limit that is just enough.
#include <sys/mman.h>

#include "victim.h"

static void* routine(void*) {
  wait_moments(20);
  return nullptr;
}

static long peak_kib() {
  FILE* status = fopen("/proc/self/status", "re");
  char line[256];
  long peak = 0;
  while (status != nullptr && fgets(line, sizeof line, status) != nullptr) sscanf(line, "VmPeak: %ld", &peak);
  if (status != nullptr) fclose(status);
  return peak;
}

int main() {
  wait_moments(1);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 256 << 10);
  int taken = 0;
  for (int i = 0; i < 384; ++i) {
    void* piece = mmap(nullptr, 64 << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    taken += piece != MAP_FAILED;
    if (i % 64 == 0) wait_moments(10);
  }
  pthread_t thread;
  const int created = pthread_create(&thread, &small, routine, nullptr);
  if (created == 0) pthread_join(thread, nullptr);
  printf("pieces %d, thread %d\n", taken, created);
  tell("peak-kib %ld", peak_kib());
}
