// waits_alone CALLS PER_MS [handler]: a program of one thread that makes nothing but calls which a signal handler may make too,
// CALLS of them that each leave a record, PER_MS a millisecond. With `handler` the first is made in one. Tells `records`.
#include "victim.h"

static sem_t g_never;

static void call(int = 0) {
  const timespec passed = {1, 0};
  if (sem_timedwait(&g_never, &passed) == 0 || errno != ETIMEDOUT) abort();
}

static long now_ms() {
  const timespec now = soon(CLOCK_MONOTONIC, 0);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const long calls = atol(argv[1]), per_ms = atol(argv[2]);
  sem_init(&g_never, 0, 0);
  if (argc > 3) {
    signal(SIGUSR1, call);
    raise(SIGUSR1);
  }
  const long begin = now_ms();
  for (long i = 0; i < calls; ++i) {
    while (i >= per_ms * (now_ms() - begin + 1)) nap();
    call();
  }
  tell("records %ld", calls + (argc > 3));
  printf("%ld calls\n", calls);
}
