// threads_detached: detached threads that wait and end by themselves, and one that never ends before main returns.
#include <atomic>

#include "victim.h"

static std::atomic<int> g_ended;
static sem_t g_never;

static void* short_life(void*) {
  wait_moments(5);
  ++g_ended;
  return nullptr;
}

static void* long_life(void* tid) {
  *static_cast<std::atomic<pid_t>*>(tid) = gettid();
  sem_wait(&g_never);
  return nullptr;
}

int main() {
  sem_init(&g_never, 0, 0);
  for (int i = 0; i < 20; ++i) pthread_detach(start(short_life));
  while (g_ended < 20) nap();
  static std::atomic<pid_t> tid;
  pthread_detach(start(long_life, &tid));
  while (tid == 0) nap();
  await_asleep(tid, &g_never, sizeof g_never);
  tell("asleep %d", static_cast<int>(tid));
  printf("main returns\n");
}
