// Threads that all wake at the same time once a second, as the idle threads of some libraries do, and look whether there is work.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <time.h>

enum { kThreads = 64, kLooksForNs = 2500000 };

static int64_t now_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void look_for_work(void) {
  const int64_t end = now_ns(CLOCK_THREAD_CPUTIME_ID) + kLooksForNs;
  while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end) {
  }
}

static void* wake_each_second(void* unused) {
  struct timespec next;
  clock_gettime(CLOCK_MONOTONIC, &next);
  next.tv_nsec = 0;
  for (;;) {
    next.tv_sec++;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    look_for_work();
  }
  return unused;
}

void start_wakers(void) {
  for (int i = 0; i < kThreads; i++) {
    pthread_t thread;
    pthread_create(&thread, NULL, wake_each_second, NULL);
    pthread_setname_np(thread, "waker");
  }
}
