// execs_itself WAY COUNT: two waits with a second thread asleep, then the program replaces itself in one of the ways there
// are, COUNT times. Each image tells its process and how many shared memory segments that process has made by then.
#include <fcntl.h>
#include <sys/syscall.h>

#include <atomic>

#include "victim.h"

extern char** environ;

static const char* g_way;
static char g_next[16];
static sem_t g_never;
static std::atomic<pid_t> g_sleeper;
static char g_self[] = "/proc/self/exe", g_program[512];

static void* sleeper(void*) {
  g_sleeper = gettid();
  sem_wait(&g_never);
  return nullptr;
}

static int segments_of_this_process() {
  FILE* table = fopen("/proc/sysvipc/shm", "re");
  char line[512];
  int count = 0;
  while (table != nullptr && fgets(line, sizeof line, table) != nullptr) {
    int maker = 0;
    if (sscanf(line, "%*d %*d %*o %*d %d", &maker) == 1 && maker == getpid()) ++count;
  }
  if (table != nullptr) fclose(table);
  return count;
}

static bool is_way(const char* way) { return strcmp(g_way, way) == 0; }

// By its name alone, along PATH.
static void look_along_path() {
  char* slash = strrchr(g_program, '/');
  *slash = 0;
  char path[600];
  snprintf(path, sizeof path, "/there/is/no/such/folder::/proc/self:%s", g_program);
  setenv("PATH", path, 1);
  memmove(g_program, slash + 1, strlen(slash + 1) + 1);
}

static void replace() {
  char* arguments[] = {g_program, const_cast<char*>(g_way), g_next, nullptr};
  char* end = nullptr;
  if (is_way("execv")) execv(g_self, arguments);
  if (is_way("execvp")) execvp(g_program, arguments);
  if (is_way("execvpe")) execvpe(g_program, arguments, environ);
  if (is_way("execl")) execl(g_self, g_program, g_way, g_next, end);
  if (is_way("execlp")) execlp(g_program, g_program, g_way, g_next, end);
  if (is_way("execle")) execle(g_self, g_program, g_way, g_next, end, environ);
  if (is_way("fexecve")) fexecve(open(g_self, O_RDONLY | O_CLOEXEC), arguments, environ);
  if (is_way("execveat")) execveat(open("/proc/self", O_PATH | O_CLOEXEC), "exe", arguments, environ, 0);
  if (is_way("syscall")) syscall(SYS_execve, g_self, arguments, environ);
  execve(g_self, arguments, environ);
  _exit(1);
}

static void* replace_in_thread(void*) {
  replace();
  return nullptr;
}

static void replace_in_handler(int) { replace(); }

// The next image begins with the signal blocked.
static void let_in(int signal) {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  sigprocmask(SIG_UNBLOCK, &one, nullptr);
}

// It goes on in the child; the parent waits for it.
static int leave_it_to(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int go_on() {
  if (is_way("fork") || is_way("fork_waits")) {
    const pid_t child = fork();
    if (child != 0) return leave_it_to(child);
    if (is_way("fork_waits")) wait_moments(1);
  }
  if (is_way("vfork")) {
    const pid_t child = vfork();
    if (child != 0) return leave_it_to(child);
  }
  if (is_way("thread")) pthread_join(start(replace_in_thread), nullptr);
  if (is_way("handler")) {
    signal(SIGUSR1, replace_in_handler);
    let_in(SIGUSR1);
    raise(SIGUSR1);
  }
  replace();
  return 1;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  g_way = argv[1];
  const int count = atoi(argv[2]);
  snprintf(g_program, sizeof g_program, "%s", argv[0]);
  if (is_way("execvp") || is_way("execvpe") || is_way("execlp")) {
    if (strchr(g_program, '/') != nullptr) look_along_path();
  }
  sem_init(&g_never, 0, 0);
  start(sleeper);
  while (g_sleeper == 0) nap();
  await_asleep(g_sleeper, &g_never, sizeof g_never);
  wait_moments(2);
  printf("image %d of %d arguments\n", count, argc);
  fflush(stdout);
  tell("image %d %d", static_cast<int>(getpid()), segments_of_this_process());
  if (count == 0) return 8;
  snprintf(g_next, sizeof g_next, "%d", count - 1);
  return go_on();
}
