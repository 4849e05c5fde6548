// polling.h: a semaphore is looked at for a moment before the thread sleeps on it.
//
// Room 2 (probe/). On the program's threads, in waits that are about to block. For how long: what sleeping costs, as it was measured
// here, and no longer than a setting says. Where: at semaphores at which it has helped of late; at others once in a while. When: as
// long as there are CPUs that nobody else wants. A thread that finds itself descheduled stops polling; where threads that polled lost
// 2 ms so, all do until the writer has looked again.
#pragma once

#include <semaphore.h>
#include <time.h>

#include <atomic>
#include <cstdint>

#include "probe/runtime/clock.h"

namespace hostprobe::probe {

// errno is kept. `limit`: of the wait, by `clock`; nullptr: none. It is not polled beyond.
bool taken_by_polling(sem_t* sem, clockid_t clock, const timespec* limit);
// After a wait that slept since `begin`.
void note_wake_latency(const sem_t* sem, std::uint64_t begin_ticks);

// How many may poll at a time, and for how long; 0: nobody. The writer's, several times a second.
void let_poll(unsigned threads, std::uint64_t most_ticks);

struct Polled {
  std::uint64_t tried, taken;  // waits
  std::uint64_t ticks;         // spent
};
Polled polled_so_far();
// Threads that poll now.
unsigned polling_now();
void forget_polling();

}  // namespace hostprobe::probe
