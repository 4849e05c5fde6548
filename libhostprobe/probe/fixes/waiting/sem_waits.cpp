// sem_waits.cpp: see sem_waits.h. On the program's threads, in calls that are about to block. Not noexcept, and nothing to destroy: the
// thread may be cancelled in the real call. A signal that comes while a semaphore is polled finds the thread as it would be just
// before the call.
#include "probe/fixes/waiting/sem_waits.h"

#include <semaphore.h>
#include <time.h>

#include "probe/fixes/row/hook_by_name.h"
#include "probe/fixes/waiting/polling.h"
#include "probe/fixes/waiting/thread_slack.h"
#include "probe/record/replaced.h"
#include "probe/runtime/of_process.h"

namespace hostprobe::probe {
namespace {

HP_OF_PROCESS std::atomic<unsigned> g_uses{0};

struct Function {
  const char* name;
  FixOfCopy fix;
};

HP_KEPT_BY_CHILDREN Hook* g_hooks[3]{};
bool is_used(SemUse use) { return (g_uses.load(std::memory_order_relaxed) & static_cast<unsigned>(use)) != 0; }

template <class Real>
Real real_of(unsigned function) {
  return reinterpret_cast<Real>(original_of(*g_hooks[function], 0));
}

template <class Call>
int poll_or_sleep(sem_t* sem, clockid_t clock, const timespec* limit, Call sleep) {
  if (is_used(SemUse::kSlack)) set_own_slack();
  if (!is_used(SemUse::kSpin)) return sleep();
  if (taken_by_polling(sem, clock, limit)) return 0;
  const std::uint64_t begin = ticks();
  const int result = sleep();
  if (result == 0) note_wake_latency(sem, begin);
  return result;
}

int wait_plain(sem_t* sem) {
  const auto real = real_of<int (*)(sem_t*)>(0);
  return poll_or_sleep(sem, CLOCK_REALTIME, nullptr, [=] { return real(sem); });
}
int wait_timed(sem_t* sem, const timespec* limit) {
  const auto real = real_of<int (*)(sem_t*, const timespec*)>(1);
  return poll_or_sleep(sem, CLOCK_REALTIME, limit, [=] { return real(sem, limit); });
}
int wait_by_clock(sem_t* sem, clockid_t clock, const timespec* limit) {
  const auto real = real_of<int (*)(sem_t*, clockid_t, const timespec*)>(2);
  return poll_or_sleep(sem, clock, limit, [=] { return real(sem, clock, limit); });
}

constexpr Function kFunctions[] = {
    {"sem_wait", [](unsigned) { return reinterpret_cast<void*>(&wait_plain); }},
    {"sem_timedwait", [](unsigned) { return reinterpret_cast<void*>(&wait_timed); }},
    {"sem_clockwait", [](unsigned) { return reinterpret_cast<void*>(&wait_by_clock); }},
};

bool stand_there() {
  bool all = true;
  for (unsigned i = 0; i < 3; ++i) {
    g_hooks[i] = hook_by_name(kFunctions[i].name);
    Hook* hook = g_hooks[i];
    const bool stands = hook != nullptr && hook->target[0] == kFunctions[i].fix(0);  // a forked child's
    all = hook != nullptr && (stands || replace_target(*hook, kFunctions[i].fix)) && all;
  }
  return all;
}

void go_away() {
  for (Hook* hook : g_hooks)
    if (hook != nullptr) restore_target(*hook);
}

}  // namespace

bool use_sem_waits(SemUse use, bool on) {
  const unsigned before = g_uses.load(std::memory_order_relaxed), bit = static_cast<unsigned>(use);
  const unsigned now = on ? before | bit : before & ~bit;
  if (before == 0 && now != 0 && !stand_there()) {
    go_away();
    return false;
  }
  g_uses.store(now, std::memory_order_relaxed);
  if (now == 0 && before != 0) go_away();
  return true;
}

}  // namespace hostprobe::probe
