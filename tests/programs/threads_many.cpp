// threads_many: two thousand short-lived threads, ten at a time, each with one wait of its own. Tells how much System V
// memory the process had mapped at its end.
#include "victim.h"

static void* short_life(void*) {
  wait_moments(1);
  return nullptr;
}

static unsigned long shared_memory_bytes() {
  unsigned long bytes = 0;
  FILE* maps = fopen("/proc/self/maps", "re");
  char line[512];
  while (maps != nullptr && fgets(line, sizeof line, maps) != nullptr) {
    unsigned long begin = 0, end = 0;
    if (strstr(line, "SYSV") != nullptr && sscanf(line, "%lx-%lx", &begin, &end) == 2) bytes += end - begin;
  }
  if (maps != nullptr) fclose(maps);
  return bytes;
}

int main() {
  int joined = 0;
  for (int batch = 0; batch < 200; ++batch) {
    pthread_t threads[10];
    for (pthread_t& thread : threads) thread = start(short_life);
    for (pthread_t thread : threads) joined += pthread_join(thread, nullptr) == 0;
  }
  tell("shared-bytes %lu", shared_memory_bytes());
  printf("%d joined\n", joined);
}
