// collects_children: a child that is killed, one that leaves by _exit with 3, one that ends well; each is collected by another
// call.
#include "victim.h"

enum Way { kKilled, kLeft, kEnded };

static pid_t make_child(const char* name, Way way) {
  fflush(stdout);
  const pid_t child = fork();
  if (child != 0) return child;
  tell("process %s %d", name, static_cast<int>(getpid()));
  wait_moments(3);
  if (way == kKilled) raise(SIGKILL);
  if (way == kLeft) _exit(3);
  exit(0);
}

int main() {
  wait_moments(2);
  print_end_of("killed", make_child("killed", kKilled));
  const pid_t left = make_child("left", kLeft);
  int status = 0;
  while (waitpid(left, &status, WNOHANG) == 0) nap();
  printf("left: %d\n", status);
  siginfo_t ended{};
  const int result = waitid(P_PID, static_cast<id_t>(make_child("ended", kEnded)), &ended, WEXITED);
  printf("ended: %d %d\n", result, ended.si_status);
}
