// signals_handler_waits: a timer's signal handler waits on a semaphore of its own, in the middle of a main thread that
// waits and posts all the time. Tells how many waits of each kind there were; each of them blocked.
#include <sys/time.h>

#include <atomic>

#include "victim.h"

static constexpr int kRounds = 4000;
static sem_t g_in_handler, g_ping, g_pong, g_never;
static volatile sig_atomic_t g_handled;
static std::atomic<pid_t> g_partner;

static void handler(int) {
  const int error = errno;
  timespec end = soon(CLOCK_MONOTONIC, 5000);
  while (sem_clockwait(&g_in_handler, CLOCK_MONOTONIC, &end) == 0 || errno != ETIMEDOUT) {
  }
  g_handled = g_handled + 1;
  errno = error;
}

static void* partner(void*) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  g_partner = gettid();
  for (int i = 0; i < kRounds; ++i) {
    while (sem_wait(&g_ping) != 0) {
    }
    sem_post(&g_pong);
  }
  return nullptr;
}

int main() {
  for (sem_t* semaphore : {&g_in_handler, &g_ping, &g_pong, &g_never}) sem_init(semaphore, 0, 0);
  const pthread_t thread = start(partner);
  while (g_partner == 0) nap();
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval often = {{0, 150}, {0, 150}}, never = {};
  setitimer(ITIMER_REAL, &often, nullptr);
  int timed = 0, wrong = 0;
  for (int i = 0; i < kRounds || g_handled < 2000; ++i) {
    if (i < kRounds) {
      sem_post(&g_ping);
      while (sem_wait(&g_pong) != 0) ++wrong;
    }
    timespec end = soon(CLOCK_REALTIME, 10000);
    errno = 0;
    if (sem_timedwait(&g_never, &end) == 0 || (errno != ETIMEDOUT && errno != EINTR)) ++wrong;
    ++timed;
  }
  setitimer(ITIMER_REAL, &never, nullptr);
  sigset_t alarm_only;
  sigemptyset(&alarm_only);
  sigaddset(&alarm_only, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &alarm_only, nullptr);
  pthread_join(thread, nullptr);
  tell("handled %d", static_cast<int>(g_handled));
  tell("timed %d", timed);
  tell("main %d", static_cast<int>(getpid()));
  tell("partner %d", static_cast<int>(g_partner));
  printf("%d rounds, %d wrong\n", kRounds, wrong);
}
