// threads_wait_while_ending: threads that wait in their last moments: in a thread_local destructor, in key destructors
// over several rounds, in a cleanup handler of pthread_exit. Every one of these waits is a blocked one.
#include "victim.h"

static pthread_key_t g_keys[3];

struct WaitsAtItsEnd {
  int armed = 0;
  ~WaitsAtItsEnd() {
    wait_moments(armed);
    if (armed > 0) printf("thread_local destructor waited\n");
  }
};
static thread_local WaitsAtItsEnd t_waits;

static void again(void* rounds_left) {
  const intptr_t rounds = reinterpret_cast<intptr_t>(rounds_left);
  wait_moments(1);
  printf("key destructor, %ld rounds left\n", static_cast<long>(rounds) - 1);
  if (rounds > 1) pthread_setspecific(g_keys[0], reinterpret_cast<void*>(rounds - 1));
}

static void once(void*) { wait_moments(1); }

static void* routine(void* leaves_early) {
  t_waits.armed = 2;
  pthread_setspecific(g_keys[0], reinterpret_cast<void*>(4));
  pthread_setspecific(g_keys[1], &t_waits);
  pthread_setspecific(g_keys[2], &t_waits);
  wait_moments(1);
  pthread_cleanup_push(once, nullptr);
  if (leaves_early != nullptr) pthread_exit(nullptr);
  pthread_cleanup_pop(1);
  return nullptr;
}

int main() {
  pthread_key_create(&g_keys[0], again);
  pthread_key_create(&g_keys[1], once);
  pthread_key_create(&g_keys[2], once);
  pthread_join(start(routine), nullptr);
  pthread_join(start(routine, &g_keys), nullptr);
  // each: 1 in the routine, 1 in the cleanup handler, 2 in the thread_local, 4 + 1 + 1 in keys
  tell("waits %d", 2 * 10);
}
