// killed THREADS [fork]: every thread waits without pause, on one of eight semaphores in turn, and counts each wait in
// the wait log before it enters and after it has returned, until somebody kills the process. With `fork`, a child does.
#include <sys/prctl.h>

#include "../support/wait_log.h"
#include "victim.h"

using namespace hostprobe::test;

static WaitLog* g_log;
static sem_t g_never[kLoggedThreads][kLoggedObjects];

static void* waits_on(void* argument) {
  const uintptr_t index = reinterpret_cast<uintptr_t>(argument);
  LoggedThread& mine = g_log->thread[index];
  mine.objects = reinterpret_cast<uintptr_t>(g_never[index]);
  mine.tid = gettid();
  for (uint64_t i = 0;; ++i) {
    mine.entered = i + 1;
    wait_a_moment(&g_never[index][i % kLoggedObjects], 5000);
    mine.returned = i + 1;
  }
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  g_log = map_wait_log("log");
  if (g_log == nullptr) return 1;
  for (auto& row : g_never)
    for (sem_t& semaphore : row) sem_init(&semaphore, 0, 0);
  if (argc > 2) {
    wait_moments(3);
    if (fork() != 0) {
      int status = 0;
      wait(&status);
      raise(WIFSIGNALED(status) ? WTERMSIG(status) : SIGABRT);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    tell("child %d", static_cast<int>(getpid()));
  }
  const uintptr_t threads = static_cast<uintptr_t>(atoi(argv[1]));
  for (uintptr_t i = 1; i < threads; ++i) start(waits_on, reinterpret_cast<void*>(i));
  waits_on(nullptr);
}
