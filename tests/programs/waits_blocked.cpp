// waits_blocked FUNCTION [signal|broadcast]: one thread blocks in FUNCTION again and again; three others take turns to
// wake it, each only when it really sleeps. Tells who woke it each time.
#include <atomic>

#include "victim.h"

static constexpr int kRounds = 24;
static constexpr int kWakers = 3;
static const char* g_function;
static bool g_broadcast;
static sem_t g_semaphore;
static pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t g_condition = PTHREAD_COND_INITIALIZER;
static bool g_ready;
static int g_calls;
static std::atomic<pid_t> g_waiter;
static std::atomic<int> g_rounds_over;

static bool is(const char* name) { return strcmp(g_function, name) == 0; }
static bool on_semaphore() { return strncmp(g_function, "sem_", 4) == 0; }

static int wait_once() {
  const timespec real = soon(CLOCK_REALTIME, 0), mono = soon(CLOCK_MONOTONIC, 0);
  const timespec late_real = {real.tv_sec + 600, 0}, late_mono = {mono.tv_sec + 600, 0};
  ++g_calls;
  if (is("sem_wait")) return sem_wait(&g_semaphore);
  if (is("sem_timedwait")) return sem_timedwait(&g_semaphore, &late_real);
  if (is("sem_clockwait")) return sem_clockwait(&g_semaphore, CLOCK_MONOTONIC, &late_mono);
  if (is("pthread_cond_wait")) return pthread_cond_wait(&g_condition, &g_mutex);
  if (is("pthread_cond_timedwait")) return pthread_cond_timedwait(&g_condition, &g_mutex, &late_real);
  return pthread_cond_clockwait(&g_condition, &g_mutex, CLOCK_MONOTONIC, &late_mono);
}

static void* waiter(void*) {
  g_waiter = gettid();
  for (int round = 0; round < kRounds; ++round) {
    errno = 4711;
    int result = 0;
    if (on_semaphore()) {
      result = wait_once();
    } else {
      pthread_mutex_lock(&g_mutex);
      while (!g_ready) result = wait_once();
      g_ready = false;
      pthread_mutex_unlock(&g_mutex);
    }
    if (result != 0 || errno != 4711) printf("round %d: result %d, errno %d\n", round, result, errno);
    g_rounds_over = round + 1;
  }
  return nullptr;
}

static void wake() {
  if (on_semaphore()) {
    sem_post(&g_semaphore);
    return;
  }
  pthread_mutex_lock(&g_mutex);
  g_ready = true;
  if (g_broadcast)
    pthread_cond_broadcast(&g_condition);
  else
    pthread_cond_signal(&g_condition);
  pthread_mutex_unlock(&g_mutex);
}

static void* waker(void* argument) {
  const void* object = on_semaphore() ? static_cast<void*>(&g_semaphore) : &g_condition;
  for (int round = static_cast<int>(reinterpret_cast<intptr_t>(argument)); round < kRounds; round += kWakers) {
    while (g_waiter == 0 || g_rounds_over != round) nap();
    await_asleep(g_waiter, object, on_semaphore() ? sizeof g_semaphore : sizeof g_condition);
    tell("waker %d %d", round, static_cast<int>(gettid()));
    wake();
  }
  return nullptr;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  g_function = argv[1];
  g_broadcast = argc > 2 && strcmp(argv[2], "broadcast") == 0;
  sem_init(&g_semaphore, 0, 0);
  pthread_t threads[kWakers + 1] = {start(waiter)};
  for (intptr_t i = 0; i < kWakers; ++i) threads[i + 1] = start(waker, reinterpret_cast<void*>(i));
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  tell("object %p", on_semaphore() ? static_cast<void*>(&g_semaphore) : &g_condition);
  tell("waiter %d", static_cast<int>(g_waiter));
  tell("calls %d", g_calls);
  printf("%d rounds\n", g_rounds_over.load());
}
