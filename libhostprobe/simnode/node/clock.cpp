// Waiting for a moment, in the three ways a context may ask for.
#include "clock.h"

#include "futex.h"

#include <sched.h>
#include <sys/prctl.h>

namespace simnode {

namespace {

constexpr int64_t kLastSpinNs = 20000;  // from here on to the moment itself without giving the CPU away

// The kernel may add 50 us (the default timer slack) to any sleep: as much as a few kernels last.
void sleep_until(int64_t until_ns) {
  int slack_ns = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
  prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  std::atomic<uint32_t> never{0};
  while (now_ns() < until_ns) futex_wait(never, 0, until_ns);
  prctl(PR_SET_TIMERSLACK, slack_ns > 0 ? slack_ns : 50000, 0, 0, 0);
}

}  // namespace

void wait_until(int64_t until_ns, WaitMode mode) {
  switch (mode) {
    case WaitMode::kSpin:
      while (now_ns() < until_ns - kLastSpinNs) {
        spin_a_while();
        sched_yield();
      }
      spin_until(until_ns);
      break;
    case WaitMode::kYield:
      while (now_ns() < until_ns) sched_yield();
      break;
    case WaitMode::kBlock:
      sleep_until(until_ns);
      break;
  }
}

}  // namespace simnode
