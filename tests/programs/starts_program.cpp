// starts_program WAY PROGRAM: waits, starts a program in one of the ways there are, prints how it ended, and waits again.
#include <spawn.h>
#include <sys/syscall.h>

#include "victim.h"

extern char** environ;

static void become(const char* way, const char* program, char** arguments) {
  if (strcmp(way, "execve") == 0 || strcmp(way, "vfork") == 0) execve(program, arguments, environ);
  if (strcmp(way, "execv") == 0) execv(program, arguments);
  if (strcmp(way, "execvp") == 0) execvp(strrchr(program, '/') + 1, arguments);
  if (strcmp(way, "execvpe") == 0) execvpe(strrchr(program, '/') + 1, arguments, environ);
  if (strcmp(way, "execl") == 0) execl(program, program, static_cast<char*>(nullptr));
  if (strcmp(way, "execlp") == 0) execlp(program, program, static_cast<char*>(nullptr));
  if (strcmp(way, "execle") == 0) execle(program, program, static_cast<char*>(nullptr), environ);
  if (strcmp(way, "fexecve") == 0) fexecve(open(program, O_RDONLY | O_CLOEXEC), arguments, environ);
  if (strcmp(way, "execveat") == 0) execveat(AT_FDCWD, program, arguments, environ, 0);
  if (strcmp(way, "syscall") == 0) syscall(SYS_execve, program, arguments, environ);
  _exit(96);
}

// The script's interpreter is the program.
static const char* script_of(const char* program) {
  static char line[512];
  const int length = snprintf(line, sizeof line, "#! %s\n", program);
  const int fd = open("script", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
  if (fd < 0 || write(fd, line, static_cast<size_t>(length)) != length) abort();
  close(fd);
  return "./script";
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const char* way = argv[1];
  char* arguments[] = {argv[2], nullptr};
  char path[512];
  snprintf(path, sizeof path, "%.*s", static_cast<int>(strrchr(argv[2], '/') - argv[2]), argv[2]);
  setenv("PATH", path, 1);
  wait_moments(3);
  pid_t child = -1;
  if (strcmp(way, "posix_spawn") == 0)
    printf("%d\n", posix_spawn(&child, argv[2], nullptr, nullptr, arguments, environ));
  else if (strcmp(way, "posix_spawnp") == 0)
    printf("%d\n", posix_spawnp(&child, strrchr(argv[2], '/') + 1, nullptr, nullptr, arguments, environ));
  else if (strcmp(way, "vfork") == 0 && (child = vfork()) == 0)
    become(way, argv[2], arguments);
  else if (strcmp(way, "vfork") != 0 && strcmp(way, "script") != 0 && (child = fork()) == 0)
    become(way, argv[2], arguments);
  const char* script = strcmp(way, "script") == 0 ? script_of(argv[2]) : nullptr;
  if (script != nullptr && (child = fork()) == 0) become("execv", script, arguments);
  print_end_of(way, child);
  wait_moments(4);
  return 3;
}
