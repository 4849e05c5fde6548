// execs_itself COUNT: two waits with a second thread asleep, then the program replaces itself, COUNT times.
#include <atomic>

#include "victim.h"

static sem_t g_never;
static std::atomic<pid_t> g_sleeper;

static void* sleeper(void*) {
  g_sleeper = gettid();
  sem_wait(&g_never);
  return nullptr;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const int count = atoi(argv[1]);
  sem_init(&g_never, 0, 0);
  start(sleeper);
  while (g_sleeper == 0) nap();
  await_asleep(g_sleeper, &g_never, sizeof g_never);
  wait_moments(2);
  printf("image %d\n", count);
  fflush(stdout);
  if (count == 0) return 8;
  char next[16];
  snprintf(next, sizeof next, "%d", count - 1);
  execl("/proc/self/exe", argv[0], next, static_cast<char*>(nullptr));
  return 1;
}
