// wait.h: the timed call of a function that blocks, and the exported shells around it.
//
// Room 2 (probe/). Called by hooks_wait.cpp on the program's threads, only once it is clear that the call does not
// succeed at once, so everything here may cost tens of nanoseconds. Not noexcept, no destructors: the thread may be
// cancelled inside the real call; thread.cpp then seals the wait that `open` holds.
#pragma once

#include "hook.h"
#include "pairing.h"
#include "stacks.h"

namespace hostprobe::probe {

inline std::uint16_t wait_flags(int result, int error) {
  if (result == 0) return 0;
  return static_cast<std::uint16_t>(kRecordFailed | (error == ETIMEDOUT ? kRecordTimedOut : 0));
}

// `call` performs the real wait and returns its result; `error_of` tells the error number of a result.
template <class Call, class ErrorOf>
int timed_wait(Hook& hook, const void* object, const void* site, Call call, ErrorOf error_of) {
  ThreadLocal& t = t_local;
  mark_used(hook);
  Bucket& bucket = bucket_of(object);
  OpenWait outer = t.open;
  announce(bucket);
  std::uint64_t begin = ticks();
  t.open = {&hook, &bucket, object, site, begin};
  int result = call();
  t.open = outer;
  std::uint64_t end = ticks();
  withdraw(bucket);
  std::uint16_t stack = 0;
  if (HP_UNLIKELY(end - begin >= g_stack_ticks)) stack = sample_stack(end);
  Record* r = reserve_record();
  if (HP_UNLIKELY(r == nullptr)) return result;
  r->begin_ticks = begin;
  r->end_ticks = end;
  r->a = reinterpret_cast<std::uint64_t>(object);
  r->b = take_post(bucket, object, begin, end);
  r->c = reinterpret_cast<std::uint64_t>(site);
  r->d = static_cast<std::uint64_t>(static_cast<std::int64_t>(result));
  r->e = 0;
  commit_record(r, hook, wait_flags(result, error_of(result)), stack);
  return result;
}

}  // namespace hostprobe::probe

// A libc function that blocks. Exported under its own name through an internal C++ name, because redefining a function
// beside its header's declaration does not compile. Labels are those of every wait.
#define HP_WAIT_HOOK(name, versions, params)                                                            \
  HP_ROW(kWait, name, versions, 1, 0, nullptr, "object:hex", "waker:post", "site:code", "result:i", "") \
  extern "C" HP_EXPORT int hp_##name params __asm__(#name);                                             \
  extern "C" int hp_##name params
