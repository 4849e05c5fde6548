// forks_in_a_walk WHAT: one thread is in the middle of the loader's list, in a callback of dl_iterate_phdr, while the main
// thread forks. glibc leaves the lock of that list locked in the child, but neither dlsym nor pthread_create needs it.
// WHAT: which of them the child calls.
#include <dlfcn.h>
#include <link.h>

#include <atomic>

#include "victim.h"

static std::atomic<bool> g_inside, g_leave;

static int stay(dl_phdr_info*, size_t, void*) {
  g_inside = true;
  while (!g_leave) nap();
  return 1;
}

static void* walk(void*) {
  dl_iterate_phdr(stay, nullptr);
  return nullptr;
}

static void* three_waits(void*) {
  wait_moments(3);
  return nullptr;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const bool looks_up = strcmp(argv[1], "thread") != 0, makes_thread = strcmp(argv[1], "dlsym") != 0;
  wait_moments(2);
  // Something is new since the last walk.
  if (dlopen("libm.so.6", RTLD_NOW) == nullptr || dlopen("libresolv.so.2", RTLD_NOW) == nullptr) return 3;
  const pthread_t walker = start(walk);
  while (!g_inside) nap();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    if (looks_up && dlsym(RTLD_DEFAULT, "getpid") == nullptr) _exit(4);
    if (makes_thread) pthread_join(start(three_waits), nullptr);
    wait_moments(4);
    exit(5);
  }
  print_end_of("child", child);
  g_leave = true;
  pthread_join(walker, nullptr);
  tell("child %d", static_cast<int>(child));
}
