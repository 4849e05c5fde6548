// burns [MILLISECONDS [OF_ITS_CHILD]]: uses so much CPU time (3000 when not said), three quarters of it in a function of libburner.so and one in a function
// of its own, with a wait now and then; beside it a thread that only waits, and a forked child that does the same (100 when not said).
#include <sys/wait.h>

#include "burner.h"
#include "victim.h"

namespace {

constexpr unsigned long kRounds = 200000;
sem_t g_never;

__attribute__((noinline)) unsigned burn_in_program(unsigned long rounds) {
  volatile unsigned sum = 1;
  for (unsigned long i = 0; i < rounds; ++i) sum = sum * 1664525u + 1013904223u;
  return sum;
}

long cpu_ms() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void burn(long ms) {
  for (const long end = cpu_ms() + ms; cpu_ms() < end;) {
    for (int i = 0; i < 12; ++i) burn_in_library(kRounds);
    for (int i = 0; i < 4; ++i) burn_in_program(kRounds);
    wait_moments(1);
  }
}

void* waits_only(void*) {
  sem_wait(&g_never);
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  const long ms = argc > 1 ? atol(argv[1]) : 3000, childs_ms = argc > 2 ? atol(argv[2]) : 100;
  sem_init(&g_never, 0, 0);
  pthread_t thread;
  if (pthread_create(&thread, nullptr, waits_only, nullptr) != 0) return 1;
  wait_moments(3);
  burn(ms);
  const pid_t child = fork();
  if (child == 0) {
    wait_moments(600);  // from its first full chunk on a child has a thread of hostprobe's
    burn(childs_ms);
    exit(3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  sem_post(&g_never);
  pthread_join(thread, nullptr);
  printf("errno of a failing call: %d\n", close(-1) == -1 ? errno : 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 3 ? 7 : 1;
}
