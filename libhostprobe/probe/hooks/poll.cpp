// hooks/poll.cpp: waiting until one of several descriptors is ready.
//
// Room 2 (probe/). The same function with a limit of zero answers first whether something is ready: loops that find
// something each time (a spinning epoll loop makes 250 000 calls a second) stay one system call without a clock, and are
// not mistaken for waiting. Only then the program's own call is made and timed. Both calls see the same signal mask, so a
// signal that was meant to end the wait ends the first one as well. A limit that the real function would refuse goes
// straight to it.
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/time.h>

#include "probe/hooks/descriptor_name.h"
#include "probe/hooks/poll_cost.h"
#include "probe/record/limits.h"
#include "probe/record/wait.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/safe_memory.h"

namespace hostprobe::probe {

HP_KEPT_BY_CHILDREN std::uint64_t g_ask_ticks = 0;

namespace {

constexpr timespec kAtOnce{0, 0};

enum class Limit { kNone, kNow, kLater, kRefused };

Limit limit_of(int milliseconds) {
  return milliseconds == 0 ? Limit::kNow : milliseconds < 0 ? Limit::kNone : Limit::kLater;
}
Limit limit_of(long seconds, long fraction, long unit) {
  if (seconds < 0 || fraction < 0 || fraction >= unit) return Limit::kRefused;
  return seconds == 0 && fraction == 0 ? Limit::kNow : Limit::kLater;
}
Limit limit_of(const timespec* limit) {
  return limit == nullptr ? Limit::kNone : limit_of(limit->tv_sec, limit->tv_nsec, 1000000000);
}
Limit limit_of(const timeval* limit) {
  return limit == nullptr ? Limit::kNone : limit_of(limit->tv_sec, limit->tv_usec, 1000000);
}

const void* object_of(unsigned long number) { return reinterpret_cast<const void*>(number); }

// Whoever waits for one descriptor alone waits for what it stands for. The memory is the program's, and it may have none there.
const pollfd* only_one(const pollfd* fds, nfds_t count) { return count == 1 ? fds : nullptr; }

std::uint32_t name_of(const pollfd* only, std::uint64_t waited_ticks) {
  int descriptor = -1;
  if (only == nullptr || waited_ticks < g_limits.short_stack_ticks) return 0;
  const auto from = reinterpret_cast<std::uint64_t>(&only->fd);
  return Memory().copy(&descriptor, from, sizeof descriptor) ? descriptor_name(descriptor, waited_ticks) : 0;
}

// `ask` is the call with a limit of zero, `call` the program's own.
template <class Ask, class Call>
int poll_wait(Hook& hook, const void* object, const void* site, const pollfd* only, Limit limit, Ask ask, Call call) {
  if (limit == Limit::kNow || limit == Limit::kRefused) {
    mark_used(hook);
    count_quiet();
    return call();
  }
  if (int ready = ask(); ready != 0) {
    mark_used(hook);
    count_quiet();
    return ready;
  }
  if (ThreadEntry* entry = t_local.entry) entry->own_ticks += g_ask_ticks;
  Waited wait{object, site, 0, 0, 0, 0, 0, 0, 0};
  const int result = time_call(hook, nullptr, wait, call);
  const int saved = errno;
  wait.result = result;
  wait.error = errno_of(result);
  wait.name = name_of(only, wait.end - wait.begin);
  errno = saved;
  keep_wait(hook, wait);
  return result;
}

// select writes its answer into the sets it is given: it is asked with copies. More descriptors than an fd_set can
// hold are legal on Linux; then there is no asking.
struct Sets {
  static constexpr int kMost = FD_SETSIZE;
  fd_set sets[3];
  fd_set* pointers[3];
  std::size_t bytes;

  Sets(int count, fd_set* const (&from)[3]) : bytes(static_cast<std::size_t>(count + 63) / 64 * 8) {
    for (int i = 0; i < 3; ++i) {
      pointers[i] = from[i] == nullptr ? nullptr : &sets[i];
      if (from[i] != nullptr) memcpy(&sets[i], from[i], bytes);
    }
  }
  void give_back(fd_set* const (&to)[3]) const {
    for (int i = 0; i < 3; ++i)
      if (to[i] != nullptr) memcpy(to[i], &sets[i], bytes);
  }
};

template <class Select, class Call>
int select_wait(Hook& hook, const void* site, int count, fd_set* const (&sets)[3], Limit limit, Select select,
                Call call) {
  if (count < 0 || count > Sets::kMost) limit = Limit::kRefused;
  auto ask = [&] {
    Sets copies(count, sets);
    int ready = select(copies.pointers);
    if (ready > 0) copies.give_back(sets);
    return ready;
  };
  return poll_wait(hook, object_of(static_cast<unsigned long>(count)), site, nullptr, limit, ask, call);
}

}  // namespace

void measure_asking() {
  std::uint64_t best = ~std::uint64_t{0};
  for (int i = 0; i < 20; ++i) {
    std::uint64_t begin = ticks();
    poll(nullptr, 0, 0);
    std::uint64_t spent = ticks() - begin;
    if (spent < best) best = spent;
  }
  g_ask_ticks = best;
}

}  // namespace hostprobe::probe

using namespace hostprobe::probe;

#define HP_POLL_HOOK(name, versions, label, params, args, object, only, limit, now)                   \
  HP_DESCRIPTOR_HOOK(int, kPoll, name, versions, label, params) {                                     \
    auto real = libc_target<int(*) params>(g_hook_##name);                                            \
    if (!recording_or_begun(Moment::kAnywhere)) return real args;                                     \
    return poll_wait(                                                                                 \
        g_hook_##name, object_of(static_cast<unsigned long>(object)), HP_SITE, only, limit_of(limit), \
        [&] { return real now; }, [&] { return real args; });                                         \
  }

HP_POLL_HOOK(poll, "GLIBC_2.2.5", "count", (pollfd * fds, nfds_t count, int limit), (fds, count, limit), count,
             only_one(fds, count), limit, (fds, count, 0))
HP_POLL_HOOK(__poll_chk, "GLIBC_2.16", "count", (pollfd * fds, nfds_t count, int limit, std::size_t bytes),
             (fds, count, limit, bytes), count, only_one(fds, count), limit, (fds, count, 0, bytes))
HP_POLL_HOOK(ppoll, "GLIBC_2.4", "count", (pollfd * fds, nfds_t count, const timespec* limit, const sigset_t* signals),
             (fds, count, limit, signals), count, only_one(fds, count), limit, (fds, count, &kAtOnce, signals))
HP_POLL_HOOK(__ppoll_chk, "GLIBC_2.16", "count",
             (pollfd * fds, nfds_t count, const timespec* limit, const sigset_t* signals, std::size_t bytes),
             (fds, count, limit, signals, bytes), count, only_one(fds, count), limit,
             (fds, count, &kAtOnce, signals, bytes))
HP_POLL_HOOK(epoll_wait, "GLIBC_2.3.2", "epoll", (int epoll, epoll_event* events, int most, int limit),
             (epoll, events, most, limit), epoll, nullptr, limit, (epoll, events, most, 0))
HP_POLL_HOOK(epoll_pwait, "GLIBC_2.6", "epoll",
             (int epoll, epoll_event* events, int most, int limit, const sigset_t* signals),
             (epoll, events, most, limit, signals), epoll, nullptr, limit, (epoll, events, most, 0, signals))

HP_BLOCKING_HOOK(int, kPoll, select, "GLIBC_2.2.5", "count",
                 (int count, fd_set* reads, fd_set* writes, fd_set* excepts, timeval* limit)) {
  auto real = libc_target<int (*)(int, fd_set*, fd_set*, fd_set*, timeval*)>(g_hook_select);
  if (!recording_or_begun(Moment::kAnywhere)) return real(count, reads, writes, excepts, limit);
  return select_wait(
      g_hook_select, HP_SITE, count, {reads, writes, excepts}, limit_of(limit),
      [&](fd_set* const(&sets)[3]) {
        timeval now{0, 0};  // Linux writes the time that is left into it
        return real(count, sets[0], sets[1], sets[2], &now);
      },
      [&] { return real(count, reads, writes, excepts, limit); });
}

HP_BLOCKING_HOOK(int, kPoll, pselect, "GLIBC_2.2.5", "count",
                 (int count, fd_set* reads, fd_set* writes, fd_set* excepts, const timespec* limit,
                  const sigset_t* signals)) {
  auto real = libc_target<int (*)(int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*)>(g_hook_pselect);
  if (!recording_or_begun(Moment::kAnywhere)) return real(count, reads, writes, excepts, limit, signals);
  return select_wait(
      g_hook_pselect, HP_SITE, count, {reads, writes, excepts}, limit_of(limit),
      [&](fd_set* const(&sets)[3]) { return real(count, sets[0], sets[1], sets[2], &kAtOnce, signals); },
      [&] { return real(count, reads, writes, excepts, limit, signals); });
}
