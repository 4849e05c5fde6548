/* calls_hostprobe: the public header from C99: eleven steps, a pause, a trigger. What each call returned is told to the file
 * VICTIM_TRUTH; what is printed is the same with and without the probe. Each step and the pause sleep once, 2 ms or more. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <hostprobe/hostprobe.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void sleep_ms(long ms) {
  struct timespec time = {0, 0};
  time.tv_nsec = ms * 1000000;
  nanosleep(&time, NULL);
}

int main(void) {
  const char* path = getenv("VICTIM_TRUTH");
  FILE* truth = path == NULL ? NULL : fopen(path, "a");
  uint64_t i;
  if (truth == NULL) return 1;
  errno = 77;
  fprintf(truth, "active %d\n", hostprobe_active());
  fprintf(truth, "first %d\n", hostprobe_step(1000));
  for (i = 1; i <= 10; ++i) {
    sleep_ms(2);
    fprintf(truth, "step %d\n", hostprobe_step(1000 + i));
  }
  fprintf(truth, "trigger %d\n", hostprobe_trigger("the program asks"));
  fprintf(truth, "stop %d again %d\n", hostprobe_stop(), hostprobe_stop());
  fprintf(truth, "paused %d\n", hostprobe_active());
  sleep_ms(2);
  fprintf(truth, "unseen %d\n", hostprobe_step(2000));
  fprintf(truth, "start %d again %d\n", hostprobe_start(), hostprobe_start());
  fprintf(truth, "resumed %d\n", hostprobe_active());
  fprintf(truth, "afresh %d\n", hostprobe_step(3000));
  sleep_ms(2);
  fprintf(truth, "last %d\n", hostprobe_step(UINT64_MAX));
  fclose(truth);
  printf("errno %d\n", errno);
  return 0;
}
