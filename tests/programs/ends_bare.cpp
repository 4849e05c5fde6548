// ends_bare WAY: three waits, then the only thread ends, and with it the process, by a system call that libc's exit functions
// have nothing to do with: exit or exit_group through syscall(), or as an instruction. Status 3. "threads_inline": four others end
// that way after it.
#include <pthread.h>
#include <sys/syscall.h>

#include "victim.h"

static void by_instruction(long number) { bare_call(number, 3); }

static void* end_by_instruction(void*) {
  wait_moments(1);
  by_instruction(SYS_exit);
  return nullptr;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  printf("ending by %s\n", argv[1]);
  fflush(stdout);
  wait_moments(3);
  if (strcmp(argv[1], "exit") == 0) syscall(SYS_exit, 3);
  if (strcmp(argv[1], "exit_group") == 0) syscall(SYS_exit_group, 3);
  if (strcmp(argv[1], "exit_group_inline") == 0) by_instruction(SYS_exit_group);
  if (strcmp(argv[1], "exit_inline") == 0) by_instruction(SYS_exit);
  if (strcmp(argv[1], "threads_inline") == 0) {
    pthread_t thread;
    for (int i = 0; i < 4; ++i) pthread_create(&thread, nullptr, end_by_instruction, nullptr);
    by_instruction(SYS_exit);
  }
  return 1;
}
