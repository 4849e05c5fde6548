// daemon_of_two_forks: the old way to become a daemon; the grandchild works on after its parents have gone.
#include "victim.h"

int main() {
  wait_moments(2);
  fflush(stdout);
  if (fork() > 0) return 0;
  setsid();
  if (fork() > 0) _exit(0);
  if (chdir("/") != 0) return 1;
  wait_moments(30);
  tell("daemon %d", static_cast<int>(getpid()));
  printf("the daemon is done\n");
}
