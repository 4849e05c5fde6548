// forks fork|_Fork|clone|clone3: waits, forks, and waits on in both processes, child and grandchild included.
#include <linux/sched.h>
#include <sys/syscall.h>

#include "victim.h"

static const char* g_way;

static pid_t make_child() {
  if (strcmp(g_way, "_Fork") == 0) return _Fork();
  if (strcmp(g_way, "clone") == 0) return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  if (strcmp(g_way, "clone3") == 0) {
    clone_args plain{};
    plain.exit_signal = SIGCHLD;
    if (syscall(SYS_clone3, nullptr, sizeof plain) != -1 || errno != EFAULT) abort();
    return static_cast<pid_t>(syscall(SYS_clone3, &plain, sizeof plain));
  }
  return fork();
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  g_way = argv[1];
  tell("process parent %d", static_cast<int>(getpid()));
  wait_moments(5);
  fflush(stdout);
  const pid_t child = make_child();
  if (child == 0) {
    tell("process child %d", static_cast<int>(getpid()));
    wait_moments(7);
    const pid_t grandchild = make_child();
    if (grandchild == 0) {
      tell("process grandchild %d", static_cast<int>(getpid()));
      wait_moments(11);
      exit(3);
    }
    print_end_of("grandchild", grandchild);
    exit(4);
  }
  wait_moments(3);
  print_end_of("child", child);
}
