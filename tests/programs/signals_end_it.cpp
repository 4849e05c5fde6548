// signals_end_it SIGNAL: five waits, then the given signal arrives while the program waits; nobody handles it.
#include <atomic>

#include "victim.h"

static sem_t g_never;
static std::atomic<pid_t> g_main;
static int g_signal;

static void* sender(void*) {
  while (g_main == 0) nap();
  await_asleep(g_main, &g_never, sizeof g_never);
  kill(getpid(), g_signal);
  for (;;) pause();
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  g_signal = atoi(argv[1]);
  sem_init(&g_never, 0, 0);
  printf("before\n");
  fflush(stdout);
  wait_moments(5);
  start(sender);
  g_main = gettid();
  sem_wait(&g_never);
  printf("never printed\n");
}
