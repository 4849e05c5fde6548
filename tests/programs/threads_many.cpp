// threads_many [BATCHES SIZE]: two thousand short-lived threads, ten at a time, or as many as said, each with one wait of its own. Tells how much System V
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

int main(int argc, char** argv) {
  const int batches = argc > 2 ? atoi(argv[1]) : 200, size = argc > 2 ? atoi(argv[2]) : 10;
  pthread_t threads[256];
  if (size > 256) return 2;
  int joined = 0;
  for (int batch = 0; batch < batches; ++batch) {
    for (int i = 0; i < size; ++i) threads[i] = start(short_life);
    for (int i = 0; i < size; ++i) joined += pthread_join(threads[i], nullptr) == 0;
  }
  tell("shared-bytes %lu", shared_memory_bytes());
  printf("%d joined\n", joined);
}
