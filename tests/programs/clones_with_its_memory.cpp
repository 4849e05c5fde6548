// clones_with_its_memory: a child of clone(CLONE_VM), which shares all memory, makes the first calls that could be recorded;
// then its parent makes its own. Tells how many `records` are the parent's.
#include <sched.h>

#include "victim.h"

static int child(void*) {
  wait_moments(20);
  return 0;
}

int main() {
  alignas(16) static char stack[256 << 10];
  const pid_t pid = clone(child, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, nullptr);
  if (pid < 0) return 2;
  wait_moments(500);
  tell("records %d", 500);
  int status = 1;
  // WNOHANG: no wait, so no record.
  while (waitpid(pid, &status, WNOHANG) == 0) nap();
  printf("child: %d\n", status);
}
