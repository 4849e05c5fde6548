// leaves WAY: four threads wait without pause and count it in the wait log VICTIM_FOLDER/log (see support/wait_log.h);
// after 200 waits in all the process leaves in one of the ways there are, while they go on.
#include <sys/syscall.h>

#include "../support/wait_log.h"
#include "victim.h"

using namespace hostprobe::test;

static constexpr unsigned kThreads = 4;
static WaitLog* g_log;
static sem_t g_never[kThreads][kLoggedObjects];

static void* waits_on(void* argument) {
  const uintptr_t index = reinterpret_cast<uintptr_t>(argument);
  LoggedThread& mine = g_log->thread[index];
  mine.objects = reinterpret_cast<uintptr_t>(g_never[index]);
  mine.tid = gettid();
  for (uint64_t i = 0;; ++i) {
    mine.entered = i + 1;
    wait_a_moment(&g_never[index][i % kLoggedObjects]);
    mine.returned = i + 1;
  }
}

static uint64_t all_waits() {
  uint64_t sum = 0;
  for (unsigned i = 0; i < kThreads; ++i) sum += g_log->thread[i].returned;
  return sum;
}

static void* exits(void*) { exit(21); }

static void leave(const char* way) {
  for (LoggedThread& thread : g_log->thread) thread.returned_at_leaving = thread.returned.load();
  if (strcmp(way, "exit") == 0) exit(20);
  if (strcmp(way, "exit-in-thread") == 0) pthread_join(start(exits), nullptr);
  if (strcmp(way, "_exit") == 0) _exit(22);
  if (strcmp(way, "_Exit") == 0) _Exit(23);
  if (strcmp(way, "quick_exit") == 0) quick_exit(24);
  if (strcmp(way, "exit_group") == 0) syscall(SYS_exit_group, 25);
  if (strcmp(way, "exit_group_inline") == 0) bare_call(SYS_exit_group, 27);
  if (strcmp(way, "exec") == 0) execl("/bin/true", "true", static_cast<char*>(nullptr));
  if (strcmp(way, "abort") == 0) abort();
  if (strcmp(way, "segfault") == 0) *static_cast<volatile int*>(nullptr) = 1;
  if (strcmp(way, "sigkill") == 0) raise(SIGKILL);
  if (strcmp(way, "sigterm") == 0) raise(SIGTERM);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  g_log = map_wait_log("log");
  if (g_log == nullptr) return 1;
  for (auto& row : g_never)
    for (sem_t& semaphore : row) sem_init(&semaphore, 0, 0);
  printf("leaving by %s\n", argv[1]);
  fflush(stdout);
  for (uintptr_t i = 0; i < kThreads; ++i) pthread_detach(start(waits_on, reinterpret_cast<void*>(i)));
  while (all_waits() < 200) nap();
  leave(argv[1]);
  return 26;
}
