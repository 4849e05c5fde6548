// signal_frame.cpp: see signal_frame.h. The kernel puts what a signal interrupted on the stack (arch/), below it the handler runs.
// One word of it is hardly anything else. Such a frame may
// also be an old one, below a buffer that nobody has filled: the signals that are blocked now and were not before tell a
// running handler from one that has ended. (SA_NODEFER blocks none: then any handler with that flag is taken for running.)
#include "probe/runtime/signal_frame.h"

#include <errno.h>
#include <signal.h>

#include <cstdint>

#include "probe/runtime/at_start.h"

namespace hostprobe::probe {
namespace {

constexpr std::uintptr_t kPage = 4096;            // larger ones are whole numbers of it
constexpr std::uintptr_t kMostStack = 512 << 10;  // a handler that has used more than that is not looked for
constexpr int kMaskBytes = 8;

struct KernelAction {
  void* handler;
  unsigned long flags;
  void* restorer;
  unsigned long mask;
};

// The kernel looks at the new mask before it refuses the rest: no other call tells this without doing something.
bool is_readable(std::uintptr_t address) {
  constexpr long kNoSuchWay = -1;
  return system_call(SYS_rt_sigprocmask, kNoSuchWay, static_cast<long>(address), 0, kMaskBytes) == -EINVAL;
}

bool some_handler_may_interrupt_itself() {
  for (int number = 1; number < 65; ++number) {
    KernelAction action{};
    if (system_call(SYS_rt_sigaction, number, 0, word_of_pointer(&action), kMaskBytes) != 0) continue;
    bool handled =
        action.handler != reinterpret_cast<void*>(SIG_DFL) && action.handler != reinterpret_cast<void*>(SIG_IGN);
    if (handled && (action.flags & SA_NODEFER) != 0) return true;
  }
  return false;
}

// Where to stop looking. libc puts what it keeps for a thread at the top of its stack; the main thread's ends before pages
// that cannot be read.
std::uintptr_t end_of_stack(std::uintptr_t here) {
  auto thread = reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
  return here < thread && thread - here < kMostStack ? thread : here + kMostStack;
}

// `at` holds kFrameMark.
__attribute__((no_sanitize("address", "thread"))) bool is_frame(std::uintptr_t at, std::uintptr_t low,
                                                                std::uint64_t& mask) {
  std::uintptr_t frame = at - kMarkInFrame;
  if (frame < low) return false;  // the words before it are below us
  const auto* words = reinterpret_cast<const std::uint64_t*>(frame);
  if (!looks_like_frame(words) || !is_readable(frame + kMaskInFrame)) return false;
  mask = words[kMaskInFrame / 8];
  return true;
}

__attribute__((no_sanitize("address", "thread"))) bool handler_runs_between(std::uintptr_t low, std::uintptr_t high,
                                                                            unsigned long blocked) {
  std::uintptr_t readable_to = low;
  for (std::uintptr_t at = low; at + 8 <= high; at += 8) {
    if (at >= readable_to) {
      if (!is_readable(at)) return false;
      readable_to = (at / kPage + 1) * kPage;
    }
    std::uint64_t before = 0;
    if (*reinterpret_cast<const volatile std::uint64_t*>(at) != kFrameMark || !is_frame(at, low, before)) continue;
    if ((blocked & ~before) != 0 || some_handler_may_interrupt_itself()) return true;
  }
  return false;
}

}  // namespace

__attribute__((noinline)) bool in_signal_handler(unsigned long blocked) {
  stack_t own{};
  if (system_call(SYS_sigaltstack, 0, word_of_pointer(&own)) == 0 && (own.ss_flags & SS_ONSTACK) != 0) return true;
  std::uintptr_t here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) / 8 * 8;
  return handler_runs_between(here, end_of_stack(here), blocked);
}

bool in_signal_handler() {
  unsigned long blocked = 0;
  if (system_call(SYS_rt_sigprocmask, SIG_BLOCK, 0, word_of_pointer(&blocked), kMaskBytes) != 0) return true;
  return in_signal_handler(blocked);
}

}  // namespace hostprobe::probe
