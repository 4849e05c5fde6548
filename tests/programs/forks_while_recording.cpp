// forks_while_recording: one thread forks again and again while four others wait and post without pause. Each child does
// four waits, starts a thread of its own that does three, and leaves.
#include <atomic>

#include "victim.h"

static constexpr int kChildren = 25;
static std::atomic<bool> g_stop;
static std::atomic<int> g_waits;

static void* waits_on(void*) {
  sem_t never;
  sem_init(&never, 0, 0);
  while (!g_stop) {
    wait_a_moment(&never);
    ++g_waits;
  }
  return nullptr;
}

static void* three_waits(void*) {
  wait_moments(3);
  return nullptr;
}

static void* forks(void*) {
  for (int i = 0; i < kChildren; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      wait_moments(4);
      pthread_join(start(three_waits), nullptr);
      _exit(10 + i);
    }
    tell("child %d", static_cast<int>(child));
    char name[16];
    snprintf(name, sizeof name, "child %d", i);
    print_end_of(name, child);
  }
  return nullptr;
}

int main() {
  setvbuf(stdout, nullptr, _IOFBF, 8192);
  pthread_t threads[4];
  for (pthread_t& thread : threads) thread = start(waits_on);
  pthread_join(start(forks), nullptr);
  g_stop = true;
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  tell("waits %d", g_waits.load());
  tell("parent %d", static_cast<int>(getpid()));
}
