// restricts_itself strict|prctl|syscall|all_threads: waits, gives up nearly all system calls on pain of death, and goes on
// with those it has left.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "victim.h"

namespace {

#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

sock_filter g_filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                          ALLOW(SYS_read),
                          ALLOW(SYS_write),
                          ALLOW(SYS_futex),
                          ALLOW(SYS_exit),
                          ALLOW(SYS_exit_group),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
sock_fprog g_program = {sizeof g_filter / sizeof *g_filter, g_filter};

int restrict(const char* way) {
  if (strcmp(way, "strict") == 0) return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  if (strcmp(way, "prctl") == 0) return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &g_program, 0, 0);
  const long flags = strcmp(way, "all_threads") == 0 ? SECCOMP_FILTER_FLAG_TSYNC : 0;
  // The question that libseccomp asks first; it restricts nothing.
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, nullptr) != -1) return -1;
  wait_moments(2);
  return static_cast<int>(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &g_program));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  wait_moments(3);
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0 || write(pipe_ends[1], "x", 1) != 1) return 1;
  if (restrict(argv[1]) != 0) return 1;
  char byte = 0;
  const bool well = read(pipe_ends[0], &byte, 1) == 1 && byte == 'x' && write(1, "well\n", 5) == 5;
  // Strict mode allows exit, and not what libc's exit functions make of it.
  bare_call(SYS_exit, well ? 7 : 1);
}
