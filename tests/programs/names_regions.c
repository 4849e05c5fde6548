/* names_regions: the public header from C99: 40 regions "outer", two "inner" in each, one of them not ended, marks of a number,
 * and five steps with both ends. What the calls returned is told to the file VICTIM_TRUTH. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <hostprobe/hostprobe.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void sleep_us(long us) {
  struct timespec time = {0, 0};
  time.tv_nsec = us * 1000;
  nanosleep(&time, NULL);
}

int main(void) {
  const char* path = getenv("VICTIM_TRUTH");
  FILE* truth = path == NULL ? NULL : fopen(path, "a");
  int i, outer_ended = 0, inner_ended = 0, marked = 0, steps = 0;
  if (truth == NULL) return 1;
  errno = 77;
  for (i = 0; i < 40; ++i) {
    struct hostprobe_region outer = hostprobe_begin_region("outer");
    struct hostprobe_region first = hostprobe_begin_region("inner \"1\"");
    struct hostprobe_region second;
    sleep_us(100);
    inner_ended += hostprobe_end_region(first);
    second = hostprobe_begin_region("never ended");
    (void)second;
    marked += hostprobe_mark("loss", 1.5 - i);
    outer_ended += hostprobe_end_region(outer);
  }
  marked += hostprobe_mark("no number", strtod("nan", NULL));
  marked += hostprobe_mark(NULL, 1);
  for (i = 0; i < 5; ++i) {
    steps += hostprobe_step((uint64_t)(100 + i));
    sleep_us(1000);
    steps += hostprobe_end_step();
    sleep_us(1000);
  }
  steps += hostprobe_end_step();
  fprintf(truth, "outer %d\ninner %d\nmarks %d\nsteps %d\n", outer_ended, inner_ended, marked, steps);
  fclose(truth);
  printf("errno %d\n", errno);
  return 0;
}
