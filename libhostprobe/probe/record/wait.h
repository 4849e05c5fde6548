// wait.h: the timed call of a function that blocks, and the exported shells around it.
//
// Room 2 (probe/). On the program's threads, only once it is clear that the call does not
// succeed at once, so everything here may cost tens of nanoseconds. Not noexcept, no destructors: the thread may be
// cancelled inside the real call; thread.cpp then seals the open wait.
#pragma once

#include <errno.h>
#include <time.h>

#include "probe/record/hook.h"
#include "probe/record/pairing.h"
#include "probe/record/thread.h"

namespace hostprobe::probe {

// Error numbers as hooks hand them to keep_wait; this one says that the call came back without having blocked.
inline constexpr int kDidNotBlock = -1;

inline int errno_of(long result) { return result >= 0 ? 0 : errno; }  // errno is only set where the call failed
inline int result_itself(int result) { return result; }
inline int never_fails(long) { return 0; }

// Arguments that libc accepts whatever the object's state. All others go straight to the real function, which alone knows
// when it looks at them: some are refused only where the call would block.
inline bool plain_clock(clockid_t clock) { return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC; }
inline bool plain_limit(const timespec* limit) {
  return limit != nullptr && limit->tv_nsec >= 0 && limit->tv_nsec < 1000000000;
}

struct Waited {
  const void* object;
  const void* site;
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t post;  // of the waker, 0 = unknown
  std::int64_t result;
  int error;                 // 0, an error number, kDidNotBlock
  std::uint16_t flags;       // kRecord… besides those of the error
  std::uint32_t name;        // a string's id: of the descriptor that was waited for; 0 = none
  std::uint16_t stack = 0;   // taken before it; 0 = none
  bool others_wait = false;  // for the lock that the thread holds now
};

// Behind a wait for a lock the thread holds it, and whatever is done there makes everybody else wait longer who wants it. Where
// somebody does, the stack is owed, and taken before the next wait in that place, which then costs nobody anything. Cold.
std::uint16_t take_owed_stack(const void* site);

// Counters up a wait below the recording threshold, records the others. errno is kept.
void keep_wait(Hook& hook, const Waited& wait);

// The wait around the one that begins now: only a signal handler is in two at once. Cold. One that was left by a jump out
// of a handler is closed.
OpenWait wait_around(ThreadLocal& t, const ThreadEntry& entry);

// Says in the segment what the thread waits for while it does: it may never return, in a process that ends or hangs, and
// may be cancelled. A signal handler may wait inside a wait, which is then brought back.
class OpenWaitNote {
 public:
  OpenWaitNote(const Hook& hook, const Waited& wait, Bucket* bucket) {
    ThreadLocal& t = t_local;
    ThreadEntry* entry = t.entry;
    if (HP_UNLIKELY(entry == nullptr)) {
      if (!attach_thread()) return;
      entry = t.entry;
      if (entry == nullptr) return;  // a handler has forked since, and this is the child
    }
    if (HP_UNLIKELY(entry->open.key != 0)) outer_ = wait_around(t, *entry);
    outer_bucket_ = t.open_bucket;
    t.open_bucket = bucket;
    entry->open.begin_ticks = wait.begin;
    entry->open.object = reinterpret_cast<std::uint64_t>(wait.object);
    std::atomic_signal_fence(std::memory_order_release);
    entry->open.key = pack_place(reinterpret_cast<std::uint64_t>(wait.site), hook.number);
  }
  // No destructor: it would run when a cancelled thread is unwound, which still needs the note. The entry is looked up
  // again: a handler may have forked meanwhile, and that of the parent is not ours.
  void take_back() {
    ThreadEntry* entry = t_local.entry;
    if (HP_UNLIKELY(entry == nullptr)) return;
    if (HP_UNLIKELY(outer_.key != 0))
      entry->open = outer_;
    else
      entry->open.key = 0;
    t_local.open_bucket = outer_bucket_;
  }

 private:
  Bucket* outer_bucket_ = nullptr;
  OpenWait outer_{};
};

// The real call between two clock readings; `wait` gets the times.
template <class Call>
auto time_call(Hook& hook, Bucket* bucket, Waited& wait, Call call) {
  wait.begin = ticks();
  OpenWaitNote note(hook, wait, bucket);
  auto result = call();
  note.take_back();
  wait.end = ticks();
  return result;
}

// A wait that nobody in this process ends: descriptors, sleeps, children.
template <class Call, class ErrorOf>
auto timed_wait(Hook& hook, const void* object, const void* site, Call call, ErrorOf error_of) {
  Waited wait{object, site, 0, 0, 0, 0, 0, 0, 0};
  auto result = time_call(hook, nullptr, wait, call);
  wait.result = static_cast<std::int64_t>(result);
  wait.error = error_of(result);
  keep_wait(hook, wait);
  return result;
}

// A wait on `object`, which another thread ends. `is_lock`: the thread holds it then.
template <class Call, class ErrorOf>
auto paired_wait(Hook& hook, const void* object, const void* site, Call call, ErrorOf error_of, bool is_lock = false) {
  Waited wait{object, site, 0, 0, 0, 0, 0, 0, 0};
  if (is_lock) wait.stack = take_owed_stack(site);
  Bucket& bucket = bucket_of(object);
  announce(bucket);
  auto result = time_call(hook, &bucket, wait, call);
  withdraw(bucket);
  wait.post = take_post(bucket, object, wait.begin, wait.end);
  wait.result = static_cast<std::int64_t>(result);
  wait.error = error_of(result);
  wait.others_wait = is_lock && bucket.waiters.load(std::memory_order_relaxed) != 0;
  keep_wait(hook, wait);
  return result;
}

}  // namespace hostprobe::probe

#define HP_SITE __builtin_return_address(0)

// The row of a libc function that blocks; `object` labels what it waits for.
#define HP_WAIT_ROW(role, name, versions, object) HP_WAIT_ROW_OF(role, name, versions, object, "")
#define HP_WAIT_ROW_OF(role, name, versions, object, thing) \
  HP_ROW(kWait, role, name, versions, 1, 0, object, "waker:post", "site:code", "result:i", thing)

// Such a function. Exported under its own name through an internal C++ name, because redefining a function beside its
// header's declaration does not compile.
#define HP_BLOCKING_HOOK(Result, role, name, versions, object, params) \
  HP_WAIT_ROW(role, name, versions, object)                            \
  HP_WAIT_SHELL(Result, name, params)
#define HP_WAIT_SHELL(Result, name, params)                    \
  extern "C" HP_EXPORT Result hp_##name params __asm__(#name); \
  extern "C" Result hp_##name params
// One that waits for a descriptor, whose name is recorded (Waited::name).
#define HP_DESCRIPTOR_HOOK(Result, role, name, versions, object, params) \
  HP_WAIT_ROW_OF(role, name, versions, object, "name:str")               \
  HP_WAIT_SHELL(Result, name, params)

#define HP_WAIT_HOOK(role, name, versions, params) HP_BLOCKING_HOOK(int, role, name, versions, "object:hex", params)
