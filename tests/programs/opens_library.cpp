// opens_library PATH [WAY]: has a thread that waits for work, then opens PATH, whose constructor finds WAY in the environment
// and may give work to that thread and wait for it (initialises.cpp).
#include <dlfcn.h>

#include <atomic>

#include "victim.h"

extern "C" {
std::atomic<int> g_work{0};  // 1: given, 2: done
}

static void* nothing(void*) { return nullptr; }

static void* works(void*) {
  while (g_work != 1) nap();
  pthread_join(start(nothing), nullptr);
  g_work = 2;
  return nullptr;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const bool has_worker = strcmp(argv[2], "gives_work") == 0;
  setenv("INITIALISES", argv[2], 1);
  wait_moments(3);
  const pthread_t worker = start(has_worker ? works : nothing);
  if (!has_worker) pthread_join(worker, nullptr);
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  printf("opened: %d\n", library != nullptr);
  if (has_worker) pthread_join(worker, nullptr);
  return 4;
}
