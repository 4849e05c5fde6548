// shelter.h: no signal handler runs on this thread while one of these lives, and no hook of ours does anything.
//
// Room 2 (probe/). Around everything cold that must not be interrupted halfway: taking a chunk, an entry, a place. A
// handler's hook in there would find a chunk that has two owners, and one that jumps out would leave it so for ever. Two
// system calls, so never on the hot path. Signals that the thread itself causes stay as they are: they end it otherwise.
#pragma once

#include <signal.h>

#include <atomic>

#include "probe/record/thread_local.h"
#include "probe/runtime/at_start.h"

namespace hostprobe::probe {

class Shelter {
 public:
  // `let_in`: signals, a bit each, that are not to wait.
  explicit Shelter(unsigned long let_in = 0) {
    constexpr unsigned long kOwn = 1ul << (SIGSEGV - 1) | 1ul << (SIGBUS - 1) | 1ul << (SIGILL - 1) |
                                   1ul << (SIGFPE - 1) | 1ul << (SIGTRAP - 1) | 1ul << (SIGSYS - 1);
    // Also those that libc keeps to itself, for cancellation: hence not by pthread_sigmask.
    unsigned long all = ~(kOwn | let_in);
    system_call(SYS_rt_sigprocmask, SIG_BLOCK, word_of_pointer(&all), word_of_pointer(&before_), sizeof before_);
    t_local.taking = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~Shelter() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    t_local.taking = false;
    system_call(SYS_rt_sigprocmask, SIG_SETMASK, word_of_pointer(&before_), 0, sizeof before_);
  }
  Shelter(const Shelter&) = delete;
  Shelter& operator=(const Shelter&) = delete;

  // The signals that were blocked before.
  unsigned long blocked_before() const { return before_; }

 private:
  unsigned long before_ = 0;
};

}  // namespace hostprobe::probe
