// fork_storm: two hundred children, twenty alive at a time, each with one wait, leaving by every door in turn.
#include "victim.h"

static constexpr int kChildren = 200;
static constexpr int kAtOnce = 20;

static void child(int number) {
  wait_moments(1);
  if (number % 3 == 0) _exit(number % 100);
  if (number % 3 == 1) exit(number % 100);
  raise(SIGKILL);
}

int main() {
  setvbuf(stdout, nullptr, _IOFBF, 16384);
  pid_t children[kAtOnce];
  wait_moments(1);
  for (int i = 0; i < kChildren; ++i) {
    pid_t& slot = children[i % kAtOnce];
    char name[16];
    snprintf(name, sizeof name, "child %d", i - kAtOnce);
    if (i >= kAtOnce) print_end_of(name, slot);
    fflush(stdout);
    slot = fork();
    if (slot == 0) child(i);
  }
  for (int i = 0; i < kAtOnce; ++i) print_end_of("last children", children[i]);
  wait_moments(1);
}
