// polling.cpp: see polling.h.
#include "probe/fixes/waiting/polling.h"

#include <errno.h>

#include "probe/record/pairing.h"
#include "probe/runtime/of_process.h"

namespace hostprobe::probe {
namespace {

struct Permit {
  std::atomic<unsigned> threads;
  std::atomic<std::uint64_t> most_ticks;
  std::atomic<std::uint64_t> lost_ticks;  // of threads that polled, since it was given
};
struct Outcomes {
  std::atomic<std::uint64_t> tried, taken, ticks;
};
HP_OF_PROCESS Permit g_permit{};
HP_OF_PROCESS Outcomes g_outcomes{};
HP_OF_PROCESS std::atomic<unsigned> g_polling{0};
HP_OF_PROCESS std::atomic<std::uint64_t> g_wake_ticks{0};  // a running mean; 0: none measured yet

// How well it went at semaphores with this hash: 0 is badly. Two that share one only spoil each other's guess.
constexpr unsigned kScores = 256, kBest = 15;
struct Score {
  std::atomic<std::uint8_t> points;  // less than the first, kBest / 2
  std::atomic<std::uint8_t> waits;
};
HP_OF_PROCESS Score g_scores[kScores]{};

constexpr std::uint64_t kLostTicks = 60000;  // between two looks: some 20 us, so the CPU was somebody else's meanwhile
// A thread that computes keeps the CPU it took for 3 ms and more; interrupts, and a hypervisor's, are over sooner.
constexpr std::uint64_t kMostLostTicks = 100 * kLostTicks;

Score& score_of(const sem_t* sem) {
  return g_scores[(reinterpret_cast<std::uintptr_t>(sem) >> 4) * 0x9e3779b97f4a7c15u >> 56];
}

// As zero is where all begin, a score counts what was lost since.
bool is_worth_it(Score& score) {
  constexpr std::uint8_t kSeldom = 32;
  const std::uint8_t wait = score.waits.fetch_add(1, std::memory_order_relaxed);
  return score.points.load(std::memory_order_relaxed) < kBest || wait % kSeldom == 0;
}

void keep_score(Score& score, bool taken) {
  const std::uint8_t lost = score.points.load(std::memory_order_relaxed);
  if (taken)
    score.points.store(lost < 3 ? 0 : static_cast<std::uint8_t>(lost - 3), std::memory_order_relaxed);
  else if (lost < kBest)
    score.points.store(static_cast<std::uint8_t>(lost + 1), std::memory_order_relaxed);
}

// What a sleep costs, twice: then polling in vain costs at most that, and most of what comes soon is caught.
std::uint64_t window_ticks() {
  const std::uint64_t most = g_permit.most_ticks.load(std::memory_order_relaxed);
  const std::uint64_t wake = g_wake_ticks.load(std::memory_order_relaxed);
  return wake == 0 || 2 * wake > most ? most : 2 * wake;
}

// Which limits glibc refuses, whether the semaphore is free or not: those waits are for the real call to answer.
bool is_valid(clockid_t clock, const timespec& limit) {
  return (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC) && limit.tv_nsec >= 0 && limit.tv_nsec < 1000000000;
}

bool leaves_time(clockid_t clock, const timespec* limit) {
  if (limit == nullptr) return true;
  timespec now{};
  if (!is_valid(clock, *limit) || clock_gettime(clock, &now) != 0) return false;
  const long ms = (limit->tv_sec - now.tv_sec) * 1000 + (limit->tv_nsec - now.tv_nsec) / 1000000;
  return ms >= 2;
}

bool may_begin() {
  const unsigned most = g_permit.threads.load(std::memory_order_relaxed);
  if (most == 0) return false;
  if (g_polling.fetch_add(1, std::memory_order_relaxed) < most) return true;
  g_polling.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

bool take(sem_t* sem) {
  int value = 0;
  return sem_getvalue(sem, &value) == 0 && value > 0 && sem_trywait(sem) == 0;
}

void note_lost(std::uint64_t lost) {
  if (g_permit.lost_ticks.fetch_add(lost, std::memory_order_relaxed) + lost > kMostLostTicks)
    g_permit.threads.store(0, std::memory_order_relaxed);
}

// By the clock, and not by a number of looks: how long a pause is depends on the CPU.
bool look_until(sem_t* sem, std::uint64_t begin, std::uint64_t window) {
  for (std::uint64_t last = begin, now = begin; now - begin < window; last = now) {
    if (take(sem)) return true;
    pause_in_loop();
    now = ticks();
    if (now - last > kLostTicks) {
      note_lost(now - last);
      break;
    }
  }
  return take(sem);
}

}  // namespace

bool taken_by_polling(sem_t* sem, clockid_t clock, const timespec* limit) {
  if (g_permit.threads.load(std::memory_order_relaxed) == 0) return false;
  Score& score = score_of(sem);
  if (!is_worth_it(score) || !leaves_time(clock, limit) || !may_begin()) return false;
  const int saved = errno;
  const std::uint64_t begin = ticks();
  const bool taken = look_until(sem, begin, window_ticks());
  g_polling.fetch_sub(1, std::memory_order_relaxed);
  g_outcomes.ticks.fetch_add(ticks() - begin, std::memory_order_relaxed);
  g_outcomes.tried.fetch_add(1, std::memory_order_relaxed);
  if (taken) g_outcomes.taken.fetch_add(1, std::memory_order_relaxed);
  keep_score(score, taken);
  errno = saved;
  return taken;
}

void note_wake_latency(const sem_t* sem, std::uint64_t begin_ticks) {
  const std::uint64_t now = ticks();
  const std::uint64_t post = take_post(bucket_of(sem), sem, begin_ticks, now);
  if (post == 0) return;
  const std::uint64_t wake = now - post_ticks(post, now), mean = g_wake_ticks.load(std::memory_order_relaxed);
  g_wake_ticks.store(mean == 0 ? wake : mean - mean / 8 + wake / 8, std::memory_order_relaxed);
}

void let_poll(unsigned threads, std::uint64_t most_ticks) {
  g_permit.most_ticks.store(most_ticks, std::memory_order_relaxed);
  g_permit.lost_ticks.store(0, std::memory_order_relaxed);
  g_permit.threads.store(most_ticks == 0 ? 0 : threads, std::memory_order_relaxed);
}

Polled polled_so_far() {
  return {g_outcomes.tried.load(std::memory_order_relaxed), g_outcomes.taken.load(std::memory_order_relaxed),
          g_outcomes.ticks.load(std::memory_order_relaxed)};
}

unsigned polling_now() { return g_polling.load(std::memory_order_relaxed); }

// A thread that was cancelled in there, or jumped out of a handler, never said that it was done.
void forget_polling() { g_polling.store(0, std::memory_order_relaxed); }

}  // namespace hostprobe::probe
