// takes_turns: four threads want one lock all the time, and each holds it for milliseconds: whoever gets it leaves others
// waiting for it.
#include "victim.h"

static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void take_turn() {
  pthread_mutex_lock(&g_lock);
  for (int i = 0; i < 20; ++i) nap();
  pthread_mutex_unlock(&g_lock);
}

static void* take_turns(void*) {
  for (int i = 0; i < 20; ++i) take_turn();
  return nullptr;
}

int main() {
  pthread_t others[4];
  for (pthread_t& thread : others) pthread_create(&thread, nullptr, take_turns, nullptr);
  for (pthread_t thread : others) pthread_join(thread, nullptr);
  printf("done\n");
}
