// waits_ping_pong: two pairs of threads hand a semaphore (and a condition) to and fro as fast as they can, so that posts
// race with waits that are just going to sleep. Tells which thread is whose only waker.
#include <atomic>

#include "victim.h"

static constexpr int kRounds = 20000;
struct Pair {
  sem_t ping, pong;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed[2] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};
  int turn = 0;
  std::atomic<pid_t> tids[2] = {};
};
static Pair g_semaphores, g_conditions;

static void* by_semaphore(void* argument) {
  const bool second = argument != nullptr;
  g_semaphores.tids[second] = gettid();
  for (int i = 0; i < kRounds; ++i) {
    if (second) sem_wait(&g_semaphores.ping);
    sem_post(second ? &g_semaphores.pong : &g_semaphores.ping);
    if (!second) sem_wait(&g_semaphores.pong);
  }
  return nullptr;
}

static void* by_condition(void* argument) {
  const int self = argument != nullptr;
  Pair& pair = g_conditions;
  pair.tids[self] = gettid();
  for (int i = 0; i < kRounds; ++i) {
    pthread_mutex_lock(&pair.mutex);
    while (pair.turn != self) pthread_cond_wait(&pair.changed[self], &pair.mutex);
    pair.turn = !self;
    pthread_cond_signal(&pair.changed[!self]);
    pthread_mutex_unlock(&pair.mutex);
  }
  return nullptr;
}

int main() {
  static char second;
  sem_init(&g_semaphores.ping, 0, 0);
  sem_init(&g_semaphores.pong, 0, 0);
  const pthread_t threads[] = {start(by_semaphore), start(by_semaphore, &second), start(by_condition),
                               start(by_condition, &second)};
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  for (Pair* pair : {&g_semaphores, &g_conditions}) {
    tell("waker-of %d %d", static_cast<int>(pair->tids[0]), static_cast<int>(pair->tids[1]));
    tell("waker-of %d %d", static_cast<int>(pair->tids[1]), static_cast<int>(pair->tids[0]));
  }
  printf("%d rounds\n", kRounds);
}
