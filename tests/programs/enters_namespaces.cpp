// enters_namespaces CALL: has a thread that ends, then enters a namespace that only a process of one thread may enter, or
// is refused it as anybody would be; and waits on.
#include <sched.h>
#include <sys/syscall.h>

#include "victim.h"

namespace {

void* wait_a_little(void*) {
  wait_moments(2);
  return nullptr;
}

// Joined threads are counted by the kernel for a moment after their end.
void have_a_thread() {
  static volatile pid_t g_tid;
  pthread_join(start([](void*) -> void* {
                 g_tid = gettid();
                 return wait_a_little(nullptr);
               }),
               nullptr);
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d", static_cast<int>(g_tid));
  while (access(path, F_OK) == 0) nap();
}

int namespace_of(pid_t process, const char* kind) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/ns/%s", static_cast<int>(process), kind);
  return open(path, O_RDONLY | O_CLOEXEC);
}

// The user namespace of a child that has one of its own and stays until it is killed.
int user_namespace_of_a_child() {
  int ready[2];
  if (pipe(ready) != 0) abort();
  const pid_t child = fork();
  if (child == 0) {
    char done = unshare(CLONE_NEWUSER) == 0 ? 'y' : 'n';
    if (write(ready[1], &done, 1) == 1) pause();
    _exit(1);
  }
  char done = 0;
  if (read(ready[0], &done, 1) != 1 || done != 'y') puts("no user namespace is to be had");
  const int fd = namespace_of(child, "user");
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return fd;
}

long enter(const char* call) {
  if (strcmp(call, "unshare_user") == 0) return unshare(CLONE_NEWUSER);
  if (strcmp(call, "unshare_memory") == 0) return unshare(CLONE_VM | CLONE_SIGHAND | CLONE_THREAD);
  if (strcmp(call, "syscall_unshare_user") == 0) return syscall(SYS_unshare, CLONE_NEWUSER);
  if (strcmp(call, "unshare_nonsense") == 0) return unshare(0x40);
  if (strcmp(call, "unshare_files") == 0) return unshare(CLONE_FILES);
  if (strcmp(call, "setns_user") == 0) return setns(user_namespace_of_a_child(), CLONE_NEWUSER);
  if (strcmp(call, "setns_mount") == 0) return setns(namespace_of(getpid(), "mnt"), CLONE_NEWNS);
  if (strcmp(call, "syscall_setns_mount") == 0) return syscall(SYS_setns, namespace_of(getpid(), "mnt"), 0);
  if (strcmp(call, "setns_nowhere") == 0) return setns(4242, 0);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  setvbuf(stdout, nullptr, _IOLBF, 4096);
  for (int round = 0; round < 3; ++round) {
    wait_moments(3);
    have_a_thread();
    errno = 4711;
    const long result = enter(argv[1]);
    printf("%s: %ld, errno %d\n", argv[1], result, errno);
  }
  pthread_t stays = start([](void*) -> void* {
    for (int i = 0; i < 100; ++i) nap();
    return nullptr;
  });
  errno = 4711;
  const long result = enter(argv[1]);
  printf("%s beside a thread: %ld, errno %d\n", argv[1], result, errno);
  pthread_join(stays, nullptr);
  wait_moments(3);
}
