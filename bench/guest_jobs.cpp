// guest_jobs KIND STEPS: small jobs whose other threads would make a recorder expensive, beside a main thread that makes steps of
// some 5 ms of computing. Prints how long the steps took.
//   yield   two threads call sched_yield all the time
//   convoy  64 threads take one lock in turns, and so does each step
//   idle    200 threads wait for the end
//   threads each step begins and joins one: some 10 000 a minute
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "hostprobe/hostprobe.h"

namespace {

std::atomic<bool> g_done{false};
pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t g_end = PTHREAD_COND_INITIALIZER;

double now_ms() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
}

void compute(int rounds) {
  volatile double x = 1;
  for (int i = 0; i < rounds; ++i) x = x * 1.0000001 + 0.1;
}

void* yield(void*) {
  while (!g_done) sched_yield();
  return nullptr;
}

void* take_turns(void*) {
  while (!g_done) {
    pthread_mutex_lock(&g_lock);
    compute(2000);
    pthread_mutex_unlock(&g_lock);
    compute(2000);
  }
  return nullptr;
}

void* idle(void*) {
  pthread_mutex_lock(&g_lock);
  while (!g_done) pthread_cond_wait(&g_end, &g_lock);
  pthread_mutex_unlock(&g_lock);
  return nullptr;
}

void* nothing(void*) {
  compute(1000);
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const bool is_convoy = strcmp(argv[1], "convoy") == 0, is_yield = strcmp(argv[1], "yield") == 0;
  const bool is_churn = strcmp(argv[1], "threads") == 0;
  const int threads = is_convoy ? 64 : is_yield ? 2 : is_churn ? 0 : 200, steps = atoi(argv[2]);
  std::vector<pthread_t> others(static_cast<std::size_t>(threads));
  for (pthread_t& thread : others)
    if (pthread_create(&thread, nullptr, is_convoy ? take_turns : is_yield ? yield : idle, nullptr) != 0) return 1;
  std::vector<double> ms;
  for (int step = 0; step < steps; ++step) {
    const double begin = now_ms();
    hostprobe_step(static_cast<uint64_t>(step));
    if (is_convoy) pthread_mutex_lock(&g_lock);
    compute(is_convoy ? 20000 : 2500000);
    if (is_convoy) pthread_mutex_unlock(&g_lock);
    pthread_t one;
    if (is_churn && pthread_create(&one, nullptr, nothing, nullptr) == 0) pthread_join(one, nullptr);
    hostprobe_end_step();
    ms.push_back(now_ms() - begin);
  }
  g_done = true;
  pthread_mutex_lock(&g_lock);
  pthread_cond_broadcast(&g_end);
  pthread_mutex_unlock(&g_lock);
  for (pthread_t thread : others) pthread_join(thread, nullptr);
  double sum = 0;
  for (const double each : ms) sum += each;
  std::sort(ms.begin(), ms.end());
  printf("step ms: count %zu median %.3f mean %.3f\n", ms.size(), ms[ms.size() / 2], sum / static_cast<double>(steps));
}
