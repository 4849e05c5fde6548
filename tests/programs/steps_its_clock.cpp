// steps_its_clock: its clock_gettime stands before libc's, and its day jumps to and fro between two waits, as when the
// administrator or NTP sets the clock. Tells when, on the clock that nobody sets.
#include <sys/syscall.h>

#include <atomic>

#include "victim.h"

static std::atomic<long> g_step;

extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t clock, timespec* time) {
  const long result = syscall(SYS_clock_gettime, clock, time);
  if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += g_step;
  return static_cast<int>(result);
}

int main() {
  sem_t never;
  sem_init(&never, 0, 0);
  const timespec moment = {0, 400000000};
  for (const long step : {0L, 7200L, -86400L, 0L}) {
    g_step = step;
    for (int i = 0; i < 50; ++i) {
      timespec end;
      syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &end);
      end.tv_nsec += 2000000;
      end.tv_sec += end.tv_nsec / 1000000000;
      end.tv_nsec %= 1000000000;
      while (sem_clockwait(&never, CLOCK_MONOTONIC, &end) == 0 || errno != ETIMEDOUT) {
      }
    }
    syscall(SYS_nanosleep, &moment, nullptr);  // the writer comes by
  }
  puts("stepped");
}
