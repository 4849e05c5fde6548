// ping_pong ROUNDS: two threads on one CPU wake each other ROUNDS times by futex system calls of their own, which no hook sees; prints their
// CPU nanoseconds of a round, which is two context switches. Recording begins with a short sleep before.
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

static std::atomic<unsigned> g_turn{0};
static long g_rounds = 0;

// glibc's syscall() is hooked.
static void futex(int operation, unsigned value) {
  long number = 202;
  register long timeout asm("r10") = 0;
  asm volatile("syscall"
               : "+a"(number)
               : "D"(&g_turn), "S"(operation | FUTEX_PRIVATE_FLAG), "d"(value), "r"(timeout)
               : "rcx", "r11", "memory");
}

static void play(unsigned self) {
  for (long i = 0; i < g_rounds; ++i) {
    while (g_turn.load() != self) futex(FUTEX_WAIT, 1 - self);
    g_turn.store(1 - self);
    futex(FUTEX_WAKE, 1);
  }
}

static double cpu_ns() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e9 * static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec);
}

static double g_second_ns = 0;

static void* second(void*) {
  const double begin = cpu_ns();
  play(1);
  g_second_ns = cpu_ns() - begin;
  return nullptr;
}

int main(int argc, char** argv) {
  g_rounds = argc > 1 ? atol(argv[1]) : 100000;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  sched_setaffinity(0, sizeof one, &one);
  for (int i = 0; i < 10; ++i) usleep(20000);
  pthread_t thread;
  if (pthread_create(&thread, nullptr, second, nullptr) != 0) return 1;
  const double begin = cpu_ns();
  play(0);
  const double spent = cpu_ns() - begin;
  pthread_join(thread, nullptr);
  printf("%.1f\n", (spent + g_second_ns) / static_cast<double>(g_rounds));
}
