// waits_shared sem|signal|broadcast: four threads sleep on one object; three others take turns to wake one of them
// (all of them with broadcast), each only when all four sleep. Every waiter tells, call by call, who woke it.
#include <atomic>

#include "victim.h"

static constexpr int kWaiters = 4;
static constexpr int kWakers = 3;
static constexpr int kRounds = 15;
static bool g_semaphore_used, g_broadcast;
static sem_t g_semaphore;
static pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t g_condition = PTHREAD_COND_INITIALIZER;
static int g_tokens, g_generation;
static std::atomic<pid_t> g_waker, g_waiters[kWaiters];
static std::atomic<int> g_woken, g_round;
static std::atomic<bool> g_stop;

// Returns true when the wake was meant for this thread.
static bool wait_on_condition(int& seen) {
  pthread_cond_wait(&g_condition, &g_mutex);
  if (g_broadcast) {
    const bool meant = seen != g_generation;
    seen = g_generation;
    return meant;
  }
  if (g_tokens == 0) return false;
  --g_tokens;
  return true;
}

static void* waiter(void* argument) {
  const intptr_t index = reinterpret_cast<intptr_t>(argument);
  const pid_t tid = gettid();
  int seen = 0;
  pthread_mutex_lock(&g_mutex);
  g_waiters[index] = tid;
  while (!g_stop) {
    bool meant = true;
    if (g_semaphore_used) {
      pthread_mutex_unlock(&g_mutex);
      sem_wait(&g_semaphore);
      pthread_mutex_lock(&g_mutex);
    } else {
      meant = wait_on_condition(seen);
    }
    tell("woken %d %d", static_cast<int>(tid), meant ? static_cast<int>(g_waker) : 0);
    if (meant) ++g_woken;
  }
  pthread_mutex_unlock(&g_mutex);
  return nullptr;
}

static void await_all_asleep() {
  for (auto& tid : g_waiters) {
    while (tid == 0) nap();
    if (g_semaphore_used)
      await_asleep(tid, &g_semaphore, sizeof g_semaphore);
    else
      await_asleep(tid, &g_condition, sizeof g_condition);
  }
}

static void wake(bool all) {
  g_waker = gettid();
  if (g_semaphore_used) {
    for (int i = 0; i < (all ? kWaiters : 1); ++i) sem_post(&g_semaphore);
    return;
  }
  pthread_mutex_lock(&g_mutex);
  g_tokens += all ? kWaiters : 1;
  ++g_generation;
  if (all || g_broadcast)
    pthread_cond_broadcast(&g_condition);
  else
    pthread_cond_signal(&g_condition);
  pthread_mutex_unlock(&g_mutex);
}

static void* waker(void* argument) {
  const int per_round = g_broadcast ? kWaiters : 1;
  for (int round = static_cast<int>(reinterpret_cast<intptr_t>(argument)); round < kRounds; round += kWakers) {
    while (g_round != round) nap();
    await_all_asleep();
    if (round == kRounds - 1) g_stop = true;
    wake(round == kRounds - 1);
    while (round < kRounds - 1 && g_woken != (round + 1) * per_round) nap();
    g_round = round + 1;
  }
  return nullptr;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  g_semaphore_used = strcmp(argv[1], "sem") == 0;
  g_broadcast = strcmp(argv[1], "broadcast") == 0;
  sem_init(&g_semaphore, 0, 0);
  pthread_t threads[kWaiters + kWakers];
  for (intptr_t i = 0; i < kWaiters; ++i) threads[i] = start(waiter, reinterpret_cast<void*>(i));
  for (intptr_t i = 0; i < kWakers; ++i) threads[kWaiters + i] = start(waker, reinterpret_cast<void*>(i));
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  printf("%d rounds, %d woken\n", g_round.load(), g_woken.load());
}
