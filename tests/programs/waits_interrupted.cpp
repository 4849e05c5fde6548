// waits_interrupted: a handler installed without SA_RESTART ends semaphore waits with EINTR, one with SA_RESTART does
// not end sem_wait, and condition waits never answer EINTR. The signal is sent only to a thread that really sleeps.
#include <atomic>

#include "victim.h"

static sem_t g_semaphore;
static pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t g_condition = PTHREAD_COND_INITIALIZER;
static std::atomic<pid_t> g_waiter;
static std::atomic<int> g_step, g_handled;
static bool g_ready;

static void count(int) { ++g_handled; }

static void* waiter(void*) {
  g_waiter = gettid();
  const timespec late = {soon(CLOCK_REALTIME, 0).tv_sec + 600, 0};
  const timespec late_mono = {soon(CLOCK_MONOTONIC, 0).tv_sec + 600, 0};
  for (int step = 0; step < 4; ++step) {
    errno = 0;
    const int result = step == 0   ? sem_wait(&g_semaphore)
                       : step == 1 ? sem_timedwait(&g_semaphore, &late)
                       : step == 2 ? sem_clockwait(&g_semaphore, CLOCK_MONOTONIC, &late_mono)
                                   : sem_wait(&g_semaphore);
    printf("step %d: result %d, errno %d\n", step, result, errno);
    g_step = step + 1;
  }
  pthread_mutex_lock(&g_mutex);
  int result = 0;
  while (!g_ready && result == 0) result = pthread_cond_timedwait(&g_condition, &g_mutex, &late);
  pthread_mutex_unlock(&g_mutex);
  printf("condition: result %d, ready %d\n", result, g_ready);
  return nullptr;
}

static void install(int flags) {
  struct sigaction action = {};
  action.sa_handler = count;
  action.sa_flags = flags;
  sigaction(SIGUSR1, &action, nullptr);
}

static void interrupt(pthread_t thread, const void* object, size_t bytes) {
  const int before = g_handled;
  await_asleep(g_waiter, object, bytes);
  pthread_kill(thread, SIGUSR1);
  while (g_handled == before) nap();
}

int main() {
  setvbuf(stdout, nullptr, _IOLBF, 4096);
  sem_init(&g_semaphore, 0, 0);
  install(0);
  const pthread_t thread = start(waiter);
  while (g_waiter == 0) nap();
  for (int step = 0; step < 3; ++step) {
    while (g_step != step) nap();
    interrupt(thread, &g_semaphore, sizeof g_semaphore);
  }
  while (g_step != 3) nap();
  install(SA_RESTART);
  interrupt(thread, &g_semaphore, sizeof g_semaphore);
  await_asleep(g_waiter, &g_semaphore, sizeof g_semaphore);
  sem_post(&g_semaphore);
  while (g_step != 4) nap();
  install(0);
  interrupt(thread, &g_condition, sizeof g_condition);
  pthread_mutex_lock(&g_mutex);
  g_ready = true;
  pthread_cond_signal(&g_condition);
  pthread_mutex_unlock(&g_mutex);
  pthread_join(thread, nullptr);
  printf("%d signals handled\n", g_handled.load());
  tell("waiter %d", static_cast<int>(g_waiter));
  tell("object %p", static_cast<void*>(&g_semaphore));
}
