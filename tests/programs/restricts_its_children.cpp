// restricts_its_children seccomp|prctl|bare_prctl|all_threads fork|_Fork|clone|vfork|at_exit: waits, gives up on pain of
// death whatever it does not need itself, then forks; all generations wait on, and have threads.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "victim.h"

namespace {

#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

// What glibc needs for these lines, and nothing else: no shmget, no openat, no gettid, no prctl.
sock_filter g_filter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
    ALLOW(SYS_read),
    ALLOW(SYS_write),
    ALLOW(SYS_futex),
    ALLOW(SYS_nanosleep),
    ALLOW(SYS_clone),
    ALLOW(SYS_clone3),
#ifdef SYS_vfork
    ALLOW(SYS_vfork),
#endif
    ALLOW(SYS_wait4),
    ALLOW(SYS_set_robust_list),
    ALLOW(SYS_rseq),
    ALLOW(SYS_set_tid_address),
    ALLOW(SYS_rt_sigprocmask),
    ALLOW(SYS_rt_sigaction),
    ALLOW(SYS_mmap),
    ALLOW(SYS_munmap),
    ALLOW(SYS_mprotect),
    ALLOW(SYS_madvise),
    ALLOW(SYS_brk),
    ALLOW(SYS_getrandom),
    ALLOW(SYS_clock_gettime),
    ALLOW(SYS_getpid),
    ALLOW(SYS_exit),
    ALLOW(SYS_exit_group),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};
sock_fprog g_program = {sizeof g_filter / sizeof *g_filter, g_filter};

bool restrict(const char* way) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  if (strcmp(way, "prctl") == 0) return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &g_program, 0, 0) == 0;
  if (strcmp(way, "bare_prctl") == 0)
    return syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &g_program, 0, 0) == 0;
  const long flags = strcmp(way, "all_threads") == 0 ? SECCOMP_FILTER_FLAG_TSYNC : 0;
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &g_program) == 0;
}

const char* g_child_by;

pid_t make_child() {
  if (strcmp(g_child_by, "_Fork") == 0) return _Fork();
  if (strcmp(g_child_by, "clone") == 0) return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  return fork();
}

void say(const char* words) {
  if (write(1, words, strlen(words)) < 0) _exit(9);
}

// A wait, and a thread that waits.
void live() {
  wait_moments(3);
  pthread_t thread = start([](void*) -> void* {
    wait_moments(2);
    return nullptr;
  });
  pthread_join(thread, nullptr);
}

void expect_end(pid_t child, int status) {
  int ended = 0;
  while (waitpid(child, &ended, 0) < 0 && errno == EINTR) {
  }
  say(WIFEXITED(ended) && WEXITSTATUS(ended) == status ? "ended well\n" : "did not end well\n");
}

void have_children() {
  const pid_t child = make_child();
  if (child == 0) {
    live();
    say("child\n");
    const pid_t grandchild = make_child();
    if (grandchild == 0) {
      live();
      say("grandchild\n");
      _exit(3);
    }
    expect_end(grandchild, 3);
    _exit(4);
  }
  expect_end(child, 4);
}

void have_vfork_child() {
  const pid_t child = vfork();
  if (child == 0) {
    wait_moments(2);
    _exit(4);
  }
  expect_end(child, 4);
}

// Is there before the filter, and ends after it.
sem_t g_end;
void* earlier_thread(void*) {
  wait_moments(1);
  sem_wait(&g_end);
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  g_child_by = argv[2];
  wait_moments(3);
  sem_init(&g_end, 0, 0);
  pthread_t earlier = start(earlier_thread);
  if (strcmp(g_child_by, "at_exit") == 0) atexit(have_children);
  if (!restrict(argv[1])) return 1;
  live();
  if (strcmp(g_child_by, "vfork") == 0)
    have_vfork_child();
  else if (strcmp(g_child_by, "at_exit") != 0)
    have_children();
  sem_post(&g_end);
  pthread_join(earlier, nullptr);
  live();
  say("well\n");
  return 7;
}
