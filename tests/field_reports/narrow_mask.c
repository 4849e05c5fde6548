// A library whose constructor narrows the CPU mask of the thread that loads it, as some OpenMP libraries do.
#define _GNU_SOURCE
#include <sched.h>

__attribute__((constructor)) static void narrow(void) {
  cpu_set_t all;
  if (sched_getaffinity(0, sizeof all, &all) != 0) return;
  int first = 0;
  while (!CPU_ISSET(first, &all)) first++;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  sched_setaffinity(0, sizeof one, &one);
}
