// killed THREADS [HOW]: every thread waits without pause, on one of eight semaphores in turn, and counts each wait in the
// wait log before it enters and after it has returned, until somebody kills the process. HOW: fork, a child does ·
// lives, threads other than the first end after a few waits and leave the rest to a successor · short, waits that
// succeed, most of them below the recording threshold · abort, _exit, exit_group, segfault, at SIGUSR1, wherever the
// thread that gets it stands.
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "../support/wait_log.h"
#include "victim.h"

using namespace hostprobe::test;

static constexpr uint64_t kWaitsOfALife = 20;
static WaitLog* g_log;
static sem_t g_never[kLoggedThreads][kLoggedObjects];
static const char* g_how = "";
static bool g_lives, g_short;

static void wait_once(sem_t* never) {
  const timespec tiny = {0, 1000};
  if (!g_short) return wait_a_moment(never, 5000);
  if (ppoll(nullptr, 0, &tiny, nullptr) != 0 && errno != EINTR) abort();
}

static void* waits_on(void* argument) {
  const uintptr_t index = reinterpret_cast<uintptr_t>(argument);
  LoggedThread& mine = g_log->thread[index];
  mine.objects = reinterpret_cast<uintptr_t>(g_never[index]);
  mine.tid = gettid();
  const uint64_t first = mine.returned;
  for (uint64_t i = first; !g_lives || index == 0 || i < first + kWaitsOfALife; ++i) {
    mine.entered = i + 1;
    wait_once(&g_never[index][i % kLoggedObjects]);
    mine.returned = i + 1;
  }
  pthread_detach(start(waits_on, argument));
  return nullptr;
}

static void leave(int) {
  if (strcmp(g_how, "_exit") == 0) {
    for (LoggedThread& thread : g_log->thread) thread.returned_at_leaving = thread.returned.load();
    _exit(22);
  }
  if (strcmp(g_how, "exit_group") == 0) syscall(SYS_exit_group, 25);
  if (strcmp(g_how, "segfault") == 0) *static_cast<volatile int*>(nullptr) = 1;
  abort();
}

static void become_a_child() {
  wait_moments(3);
  if (fork() != 0) {
    int status = 0;
    wait(&status);
    raise(WIFSIGNALED(status) ? WTERMSIG(status) : SIGABRT);
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  tell("child %d", static_cast<int>(getpid()));
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  if (argc > 2) g_how = argv[2];
  g_log = map_wait_log("log");
  if (g_log == nullptr) return 1;
  for (auto& row : g_never)
    for (sem_t& semaphore : row) sem_init(&semaphore, 0, 0);
  g_lives = strcmp(g_how, "lives") == 0;
  g_short = strcmp(g_how, "short") == 0;
  if (g_short) prctl(PR_SET_TIMERSLACK, 1UL);
  if (strcmp(g_how, "fork") == 0) become_a_child();
  signal(SIGUSR1, leave);
  const uintptr_t threads = static_cast<uintptr_t>(atoi(argv[1]));
  for (uintptr_t i = 1; i < threads; ++i) pthread_detach(start(waits_on, reinterpret_cast<void*>(i)));
  waits_on(nullptr);
}
