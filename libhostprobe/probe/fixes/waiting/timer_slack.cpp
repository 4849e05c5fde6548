// timer_slack.cpp: the fix `timer_slack`: waits with a time limit end when it is reached, and not up to 50 us later.
//
// Room 2 (probe/). The kernel lets timers of a thread be late by its slack, so that several are served at once. HOSTPROBE_TIMER_SLACK_NS
// says how late. Nobody without privileges may set another thread's, so a thread does it before such a wait (thread_slack.h), by what
// stands in front of the function.

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

#include <atomic>

#include "probe/fixes/row/fix.h"
#include "probe/fixes/row/hook_by_name.h"
#include "probe/fixes/waiting/sem_waits.h"
#include "probe/fixes/waiting/thread_slack.h"
#include "probe/record/replaced.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/writer/file/events.h"

namespace hostprobe::probe {
namespace {

enum Timed { kNanosleep, kClockNanosleep, kUsleep, kPoll, kPpoll, kSelect, kEpollWait, kCondTimed, kCondClock, kTimed };
HP_KEPT_BY_CHILDREN Hook* g_hooks[kTimed]{};

// Of this number and type. Not noexcept: the thread may be cancelled in there.
template <unsigned number, class Result, class... Args>
Result with_own_slack(Args... args) {
  set_own_slack();
  return reinterpret_cast<Result (*)(Args...)>(original_of(*g_hooks[number], 0))(args...);
}
template <unsigned number, class Result, class... Args>
void* with_slack(unsigned) {
  return reinterpret_cast<void*>(&with_own_slack<number, Result, Args...>);
}

struct Function {
  const char* name;
  FixOfCopy fix;
};
constexpr Function kFunctions[kTimed] = {
    {"nanosleep", with_slack<kNanosleep, int, const timespec*, timespec*>},
    {"clock_nanosleep", with_slack<kClockNanosleep, int, clockid_t, int, const timespec*, timespec*>},
    {"usleep", with_slack<kUsleep, int, unsigned>},
    {"poll", with_slack<kPoll, int, pollfd*, nfds_t, int>},
    {"ppoll", with_slack<kPpoll, int, pollfd*, nfds_t, const timespec*, const sigset_t*>},
    {"select", with_slack<kSelect, int, int, fd_set*, fd_set*, fd_set*, timeval*>},
    {"epoll_wait", with_slack<kEpollWait, int, int, epoll_event*, int, int>},
    {"pthread_cond_timedwait", with_slack<kCondTimed, int, pthread_cond_t*, pthread_mutex_t*, const timespec*>},
    {"pthread_cond_clockwait",
     with_slack<kCondClock, int, pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*>},
};

HP_KEPT_BY_CHILDREN std::atomic<bool> g_wanted{false};
HP_OF_PROCESS std::atomic<FixState> g_settled{FixState::kOff};
HP_OF_PROCESS unsigned long g_base = 0;
HP_OF_PROCESS bool g_stands = false;

void note(bool on, const char* text) { note_event(kEventFix, 0, on, 0, text); }

void stand_in_front() {
  for (unsigned i = 0; i < kTimed; ++i) {
    g_hooks[i] = hook_by_name(kFunctions[i].name);
    if (g_hooks[i] != nullptr) replace_target(*g_hooks[i], kFunctions[i].fix);
  }
  use_sem_waits(SemUse::kSlack, true);
  g_stands = true;
}

void go_away() {
  for (Hook* hook : g_hooks)
    if (hook != nullptr) restore_target(*hook);
  use_sem_waits(SemUse::kSlack, false);
  g_stands = false;
}

void begin() {
  char text[96];
  g_base = first_slack();
  const auto ours = static_cast<unsigned long>(g_options.timer_slack_ns);
  const bool is_lower = ours < g_base;
  if (is_lower)
    snprintf(text, sizeof text, "timer_slack on: %lu ns instead of %lu, by each thread itself", ours, g_base);
  else
    snprintf(text, sizeof text, "timer_slack stands back: the program's is %lu ns already", g_base);
  if (is_lower) want_slack(true, g_base, ours), stand_in_front();
  g_settled.store(is_lower ? FixState::kOn : FixState::kStandsBack, std::memory_order_release);
  note(is_lower, text);
}

void end(FixState settled) {
  g_settled.store(FixState::kOff, std::memory_order_release);
  if (settled != FixState::kOn) return;
  want_slack(false, g_base, static_cast<unsigned long>(g_options.timer_slack_ns));
  char text[96];
  snprintf(text, sizeof text, "timer_slack off: %u threads go back to %lu ns, each before its next wait",
           threads_with_slack(), g_base);
  note(false, text);
}

void want(bool on) { g_wanted.store(on, std::memory_order_release); }

void tend(bool last) {
  if (last) return;
  const FixState settled = g_settled.load(std::memory_order_relaxed);
  const bool wanted = g_wanted.load(std::memory_order_acquire);
  if (wanted && settled == FixState::kOff) begin();
  if (!wanted && settled != FixState::kOff) end(settled);
  // What stands there stays until each of them has come by.
  if (!wanted && g_stands && threads_with_slack() == 0) go_away();
}

FixState state() { return state_of(g_wanted, g_settled); }

}  // namespace

const Fix kTimerSlackFix{fix_name::timer_slack, want, state, tend};

}  // namespace hostprobe::probe
