// feeds_by_pipe: a child process makes what each step of its parent reads out of a pipe, and sleeps a while over it.
#include <sys/prctl.h>

#include "hostprobe/hostprobe.h"
#include "victim.h"

static const int kSteps = 60;

__attribute__((noinline)) static void make_one() {
  const timespec while_it_makes = {0, 4000000};
  nanosleep(&while_it_makes, nullptr);
}

static void feed(int pipe_end) {
  prctl(PR_SET_NAME, "kitchen");
  for (int i = 0; i < kSteps; ++i) {
    make_one();
    if (write(pipe_end, &i, sizeof i) != sizeof i) _exit(1);
  }
  _exit(0);
}

__attribute__((noinline)) static void take_one(int pipe_end) {
  int one;
  if (read(pipe_end, &one, sizeof one) != sizeof one) abort();
}

int main() {
  int ends[2];
  if (pipe(ends) != 0) return 1;
  const pid_t child = fork();
  if (child == 0) feed(ends[1]);
  close(ends[1]);
  for (uint64_t step = 0; step < kSteps; ++step) {
    hostprobe_step(step);
    take_one(ends[0]);
    for (int i = 0; i < 5; ++i) nap();
  }
  hostprobe_end_step();
  waitpid(child, nullptr, 0);
  printf("done\n");
}
