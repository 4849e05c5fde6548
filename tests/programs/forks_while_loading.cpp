// forks_while_loading LIBRARY: one thread opens and closes LIBRARY without pause, one makes threads, and the main thread forks
// children that make a thread and leave. A child that the loader's locks are held in is none the worse: it does not need
// them.
#include <dlfcn.h>

#include <atomic>

#include "victim.h"

static std::atomic<bool> g_stop;

static void* opens(void* library) {
  while (!g_stop) {
    void* handle = dlopen(static_cast<const char*>(library), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) abort();
    dlclose(handle);
  }
  return nullptr;
}

static void* nothing(void*) { return nullptr; }

static void* makes_threads(void*) {
  while (!g_stop) pthread_join(start(nothing), nullptr);
  return nullptr;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const pthread_t opener = start(opens, argv[1]), maker = start(makes_threads);
  for (int i = 0; i < 60; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      pthread_join(start(nothing), nullptr);
      _exit(10);
    }
    print_end_of("child", child);
  }
  g_stop = true;
  pthread_join(opener, nullptr);
  pthread_join(maker, nullptr);
}
