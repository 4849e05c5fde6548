// futex.h: waiting for a word of this process to change.
//
// Room 2 (probe/). By system calls: the program may have a syscall() of its own, and ours would record a wait of our own.
#pragma once

#include <errno.h>
#include <linux/futex.h>
#include <time.h>

#include <atomic>
#include <type_traits>

#include "probe/runtime/at_start.h"

namespace hostprobe::probe {

// False: so much time has passed.
template <class Word>
bool futex_wait(std::atomic<Word>& word, std::type_identity_t<Word> value, long nanoseconds) {
  static_assert(sizeof word == 4);
  timespec limit{0, nanoseconds};
  return system_call(SYS_futex, word_of_pointer(&word), FUTEX_WAIT_PRIVATE, static_cast<long>(value),
                     word_of_pointer(&limit)) != -ETIMEDOUT;
}

template <class Word>
void futex_wake(std::atomic<Word>& word) {
  static_assert(sizeof word == 4);
  system_call(SYS_futex, word_of_pointer(&word), FUTEX_WAKE_PRIVATE, 1);
}
template <class Word>
void futex_wake_all(std::atomic<Word>& word) {
  static_assert(sizeof word == 4);
  system_call(SYS_futex, word_of_pointer(&word), FUTEX_WAKE_PRIVATE, 0x7fffffff);
}

}  // namespace hostprobe::probe
