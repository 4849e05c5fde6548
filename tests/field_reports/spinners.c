// A thread that gives its CPU up again and again while it has nothing to do.
#include <pthread.h>
#include <sched.h>

static void* spin(void* unused) {
  for (;;) sched_yield();
  return unused;
}

void start_spinner(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, spin, NULL);
}
