// vforks_in_vforks WAY: a vfork child vforks itself, as deep as WAY says, and each generation ends in its own way. The
// parent waits (one recorded call each) between all of it and tells how often.
#include <dlfcn.h>
#include <sys/syscall.h>

#include "victim.h"

namespace {

int g_waits;
volatile int g_deepest;  // what vfork children leave in the memory they share

void wait_recorded() {
  ++g_waits;
  wait_moments(1);
}

int end_of(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// A function for each depth, so that each vfork has a return address of its own.
template <int depth>
struct Generation {
  __attribute__((noinline)) static int live() {
    const pid_t child = vfork();
    if (child == 0) {
      g_deepest = depth;
      wait_moments(1);
      if (Generation<depth - 1>::live() != depth - 1) _exit(99);
      wait_moments(1);
      _exit(depth);
    }
    return end_of(child) == depth ? depth : -1;
  }
};
template <>
struct Generation<0> {
  __attribute__((noinline)) static int live() {
    wait_moments(1);
    return 0;
  }
};

__attribute__((noinline)) int exec_in_the_middle() {
  const pid_t child = vfork();
  if (child == 0) {
    execlp("true", "true", static_cast<char*>(nullptr));
    _exit(90);
  }
  return end_of(child);
}

__attribute__((noinline)) int exec_of_two_generations() {
  const pid_t child = vfork();
  if (child == 0) {
    if (exec_in_the_middle() != 0) _exit(91);
    execlp("false", "false", static_cast<char*>(nullptr));
    _exit(92);
  }
  return end_of(child);
}

// The innermost ends its own parent, which is inside vfork, and itself.
__attribute__((noinline)) void end_the_parent() {
  const pid_t parent = getpid();
  const pid_t child = vfork();
  if (child == 0) {
    bare_call(SYS_kill, parent, SIGKILL);
    bare_call(SYS_exit_group, 0, 0);
  }
}

__attribute__((noinline)) int end_of_a_killed_middle() {
  const pid_t child = vfork();
  if (child == 0) {
    end_the_parent();
    _exit(93);
  }
  return end_of(child);
}

__attribute__((noinline)) int end_of_a_killed_child() {
  const pid_t child = vfork();
  if (child == 0) {
    if (Generation<1>::live() != 1) _exit(94);
    raise(SIGKILL);
  }
  return end_of(child);
}

void vfork_in_handler(int) { g_deepest = Generation<2>::live(); }

__attribute__((noinline)) int vfork_in_a_handler_of_the_child() {
  signal(SIGUSR1, vfork_in_handler);
  raise(SIGUSR1);
  const pid_t child = vfork();
  if (child == 0) {
    raise(SIGUSR1);
    _exit(g_deepest);
  }
  return end_of(child);
}

void* three_on_a_thread(void*) {
  for (int i = 0; i < 20; ++i)
    if (Generation<3>::live() != 3) abort();
  wait_moments(4);
  return nullptr;
}

int on_threads() {
  pthread_t threads[4];
  for (pthread_t& thread : threads) thread = start(three_on_a_thread);
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  g_waits += 16;
  return 0;
}

int counted_by_another() {
  const auto* count = static_cast<long*>(dlsym(RTLD_DEFAULT, "other_vforks"));
  const int end = Generation<3>::live();
  printf("counted by another: %ld\n", count == nullptr ? -1 : *count);
  return end;
}

int live(const char* way) {
  if (strcmp(way, "two") == 0) return Generation<2>::live();
  if (strcmp(way, "three") == 0) return Generation<3>::live();
  if (strcmp(way, "many") == 0) return Generation<12>::live();
  if (strcmp(way, "execs") == 0) return exec_of_two_generations();
  if (strcmp(way, "middle_killed") == 0) return end_of_a_killed_middle();
  if (strcmp(way, "child_killed") == 0) return end_of_a_killed_child();
  if (strcmp(way, "in_handler") == 0) return vfork_in_a_handler_of_the_child();
  if (strcmp(way, "threads") == 0) return on_threads();
  return counted_by_another();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  setvbuf(stdout, nullptr, _IOLBF, 4096);
  wait_recorded();
  for (int round = 0; round < 3; ++round) {
    printf("round %d: %d\n", round, live(argv[1]));
    wait_recorded();
  }
  tell("waits %d", g_waits);
}
