// changes_identity HOW: a root process that becomes another user, in the ways that programs do it, and waits on. Exit status
// 77: it is not permitted here.
#include <dirent.h>
#include <dlfcn.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "victim.h"

namespace {

constexpr uid_t kUser = 65534, kOther = 65533;

void check(const char* what, long result) {
  printf("%s: %ld, errno %d\n", what, result, result == 0 ? 0 : errno);
  errno = 0;
}

// The calling thread's capabilities: all that it may have, or none.
void have_capabilities(bool all) {
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct words[2]{};
  if (syscall(SYS_capget, &head, words) != 0) abort();
  for (auto& word : words) word.effective = all ? word.permitted : 0;
  if (syscall(SYS_capset, &head, words) != 0) abort();
}

// As setpriv does it: what is kept is the calling thread's alone.
void keeping_capabilities() {
  prctl(PR_SET_KEEPCAPS, 1);
  check("setresuid", setresuid(kUser, kUser, kUser));
  have_capabilities(true);
  check("setresgid", setresgid(kUser, kUser, kUser));
  check("setgroups", setgroups(0, nullptr));
  have_capabilities(false);
  check("setgid to root", setgid(0));
}

void to_and_fro() {
  for (int i = 0; i < 500; ++i) {
    wait_moments(1);
    if (seteuid(i % 3 == 0 ? kOther : kUser) != 0 || seteuid(0) != 0) abort();
  }
  check("setuid", setuid(kUser));
  check("setuid to root", setuid(0));
}

void for_good() {
  gid_t group = kUser;
  check("setgroups", setgroups(1, &group));
  check("initgroups", initgroups("nobody", kUser));
  check("setegid", setegid(kUser));
  check("setregid", setregid(kUser, kUser));
  check("setgid", setgid(kUser));
  check("setreuid", setreuid(kUser, kUser));
  check("seteuid to root", seteuid(0));
  check("setuid to root", setuid(0));
}

void* wait_on(void* argument) {
  for (auto* go_on = static_cast<volatile bool*>(argument); *go_on;) wait_moments(1);
  return nullptr;
}

void with_threads() {
  static volatile bool g_go_on = true;
  pthread_t others[] = {start(wait_on, const_cast<bool*>(&g_go_on)), start(wait_on, const_cast<bool*>(&g_go_on))};
  for (int i = 0; i < 100; ++i)
    if (seteuid(kUser) != 0 || seteuid(0) != 0) abort();
  for_good();
  g_go_on = false;
  for (pthread_t other : others) pthread_join(other, nullptr);
}

void* change_often(void*) {
  for (int i = 0; i < 100; ++i)
    if (setgid(kUser) != 0) abort();
  return nullptr;
}

void threads_at_once() {
  pthread_t others[] = {start(change_often), start(change_often), start(change_often)};
  for (pthread_t other : others) pthread_join(other, nullptr);
  for_good();
}

void in_child() {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    wait_moments(3);
    for_good();
    wait_moments(3);
    exit(0);
  }
  print_end_of("child", child);
}

// The child has its parent's memory, but its own identity.
void in_vfork_child() {
  const pid_t child = vfork();
  if (child == 0) _exit(setresuid(kUser, kUser, kUser) == 0 ? 7 : 8);
  print_end_of("vfork child", child);
  printf("uid %d\n", static_cast<int>(getuid()));
}

void children_afterwards() {
  for_good();
  for (int i = 0; i < 2; ++i) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      wait_moments(2);
      _exit(3);
    }
    print_end_of("child", child);
  }
}

void in_handler() {
  signal(SIGUSR1, [](int) {
    if (setresuid(kUser, kUser, kUser) != 0) abort();
  });
  raise(SIGUSR1);
  check("setuid to root", setuid(0));
}

void in_constructor() {
  char path[4096] = "";
  if (readlink("/proc/self/exe", path, sizeof path - 32) <= 0) abort();
  strcpy(strrchr(path, '/') + 1, "libbecomes_nobody.so");
  if (dlopen(path, RTLD_NOW) == nullptr) puts(dlerror());
  check("setuid to root", setuid(0));
}

// Of every thread, the program's or not: its user, by who owns its folder.
void print_users() {
  DIR* tasks = opendir("/proc/self/task");
  for (const dirent* task; (task = readdir(tasks)) != nullptr;) {
    struct stat owner;
    if (task->d_name[0] == '.' || fstatat(dirfd(tasks), task->d_name, &owner, 0) != 0) continue;
    if (owner.st_uid != geteuid()) printf("a thread of user %d among those of %d\n", owner.st_uid, geteuid());
  }
  closedir(tasks);
}

void by_system_call() {
  check("bare setresuid", syscall(SYS_setresuid, -1, kUser, -1));
  wait_moments(5);
  print_users();
  check("bare setresuid back", syscall(SYS_setresuid, -1, 0, -1));
  prctl(PR_SET_KEEPCAPS, 1);
  for_good();
}

// Where no path leads to the trace any more. Who recorded had time to open it.
void in_another_root() {
  for (int i = 0; i < 3000; ++i) nap();
  if (chroot(".") != 0) exit(77);
  keeping_capabilities();
}

pthread_t g_main;

void after_main_has_left() {
  g_main = pthread_self();
  start([](void*) -> void* {
    pthread_join(g_main, nullptr);
    wait_moments(5);
    keeping_capabilities();
    wait_moments(5);
    exit(0);
  });
  pthread_exit(nullptr);
}

struct Way {
  const char* name;
  void (*change)();
};
constexpr Way kWays[] = {{"keeping_capabilities", keeping_capabilities},
                         {"to_and_fro", to_and_fro},
                         {"for_good", for_good},
                         {"with_threads", with_threads},
                         {"threads_at_once", threads_at_once},
                         {"in_child", in_child},
                         {"in_vfork_child", in_vfork_child},
                         {"children_afterwards", children_afterwards},
                         {"in_handler", in_handler},
                         {"in_constructor", in_constructor},
                         {"by_system_call", by_system_call},
                         {"in_another_root", in_another_root},
                         {"after_main_has_left", after_main_has_left}};

void count_descriptors() {
  int open = 0;
  for (int fd = 0; fd < 256; ++fd) open += fcntl(fd, F_GETFD) >= 0;
  printf("%d descriptors\n", open);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  setvbuf(stdout, nullptr, _IOLBF, 4096);
  if (setresuid(0, 0, 0) != 0 || setgroups(0, nullptr) != 0) return 77;
  for (const Way& way : kWays) {
    if (strcmp(way.name, argv[1]) != 0) continue;
    wait_moments(5);
    way.change();
    wait_moments(5);
    count_descriptors();
  }
}
