// looks_at_itself: threads, waits and wakes; then prints how many threads the process has, whether shared memory is
// mapped, and which descriptors are open. A process that is no target must see nothing that it would not see alone.
#include <dirent.h>

#include "victim.h"

static int entries_of(const char* path) {
  DIR* folder = opendir(path);
  int count = 0;
  while (folder != nullptr && readdir(folder) != nullptr) ++count;
  if (folder != nullptr) closedir(folder);
  return count;
}

static int shared_mappings() {
  FILE* maps = fopen("/proc/self/maps", "re");
  char line[512];
  int count = 0;
  while (maps != nullptr && fgets(line, sizeof line, maps) != nullptr)
    count += strstr(line, "SYSV") != nullptr || strstr(line, "/dev/shm") != nullptr || strstr(line, "memfd") != nullptr;
  if (maps != nullptr) fclose(maps);
  return count;
}

static void* routine(void*) {
  pthread_setname_np(pthread_self(), "victim-looks");
  wait_moments(50);
  return nullptr;
}

int main() {
  wait_moments(50);
  pthread_join(start(routine), nullptr);
  usleep(20000);
  printf("threads %d\n", entries_of("/proc/self/task") - 2);
  printf("shared mappings %d\n", shared_mappings());
  printf("descriptors %d\n", entries_of("/proc/self/fd") - 3);
}
