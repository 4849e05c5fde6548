// spawns vfork|posix_spawn|system|popen: starts other programs in one of the ways there are, with waits around it.
#include <spawn.h>

#include "victim.h"

extern char** environ;

static void by_vfork() {
  const pid_t child = vfork();
  if (child == 0) {
    execlp("true", "true", static_cast<char*>(nullptr));
    _exit(127);
  }
  print_end_of("vfork and exec", child);
  const pid_t missing = vfork();
  if (missing == 0) {
    execlp("/there/is/no/such/program", "x", static_cast<char*>(nullptr));
    _exit(126);
  }
  print_end_of("vfork and failed exec", missing);
}

// What CPython's subprocess does between vfork and exec, and a wait and a post on top.
static void by_busy_vfork() {
  static sem_t never;
  sem_init(&never, 0, 0);
  const pid_t child = vfork();
  if (child == 0) {
    for (int i = 0; i < 6; ++i) wait_a_moment(&never);
    sem_post(&never);
    sem_wait(&never);
    _exit(9);
  }
  tell("vfork-child %d", static_cast<int>(child));
  print_end_of("vfork child that waits", child);
}

static void by_spawn() {
  char echo[] = "echo", text[] = "spawned";
  char* argv[] = {echo, text, nullptr};
  pid_t child = -1;
  const int result = posix_spawnp(&child, "echo", nullptr, nullptr, argv, environ);
  print_end_of("posix_spawn", child);
  printf("posix_spawnp: %d\n", result);
  printf("missing: %d\n", posix_spawnp(&child, "/there/is/no/such/program", nullptr, nullptr, argv, environ));
}

static void by_popen() {
  FILE* pipe = popen("echo one; echo two | cat; exit 5", "r");
  char line[64];
  while (fgets(line, sizeof line, pipe) != nullptr) printf("read %s", line);
  printf("pclose: %d\n", WEXITSTATUS(pclose(pipe)));
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  setvbuf(stdout, nullptr, _IOLBF, 4096);
  tell("parent %d", static_cast<int>(getpid()));
  wait_moments(4);
  if (strcmp(argv[1], "vfork") == 0) by_vfork();
  if (strcmp(argv[1], "busy-vfork") == 0) by_busy_vfork();
  if (strcmp(argv[1], "posix_spawn") == 0) by_spawn();
  if (strcmp(argv[1], "system") == 0) printf("system: %d\n", WEXITSTATUS(system("ls / >/dev/null; true; (exit 6)")));
  if (strcmp(argv[1], "popen") == 0) by_popen();
  wait_moments(5);
}
