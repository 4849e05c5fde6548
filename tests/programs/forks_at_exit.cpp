// forks_at_exit handler|cleanup: waits, and has a child in a handler of exit, or after the last of them, when libc writes
// out what its streams hold.
#include "victim.h"

static void have_child() {
  const pid_t child = fork();
  if (child == 0) {
    tell("child %d", static_cast<int>(getpid()));
    wait_moments(6);
    _exit(3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 3) _exit(9);
}

static ssize_t write_by_a_child(void*, const char*, size_t bytes) {
  have_child();
  return static_cast<ssize_t>(bytes);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  wait_moments(4);
  if (strcmp(argv[1], "handler") == 0) {
    atexit(have_child);
    return 0;
  }
  cookie_io_functions_t functions = {};
  functions.write = write_by_a_child;
  FILE* stream = fopencookie(nullptr, "w", functions);
  fputs("left for exit", stream);
}
