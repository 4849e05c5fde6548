// waits_short COUNT [killed]: that many waits of a few microseconds each, every one of them blocked, and some long ones between. Then it
// kills itself, if told to.
#include <poll.h>
#include <sys/prctl.h>

#include "victim.h"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const int count = atoi(argv[1]);
  prctl(PR_SET_TIMERSLACK, 1UL);
  wait_moments(1);
  const timespec tiny = {0, 1000}, long_time = {0, 1000000};
  const timespec begin = soon(CLOCK_MONOTONIC, 0);
  int late = 0;
  for (int i = 0; i < count; ++i) late += ppoll(nullptr, 0, i % 100 == 99 ? &long_time : &tiny, nullptr) == 0;
  const timespec end = soon(CLOCK_MONOTONIC, 0);
  printf("%d\n", late);
  if (argc > 2) kill(getpid(), SIGKILL);
  tell("total-ns %lld", (end.tv_sec - begin.tv_sec) * 1000000000LL + end.tv_nsec - begin.tv_nsec);
}
