// wait.cpp: see wait.h. What happens to a wait after it has ended.
#include "probe/record/wait.h"

#include "probe/record/hold.h"
#include "probe/record/short_waits.h"
#include "probe/record/thread.h"
#include "probe/runtime/signal_frame.h"

namespace hostprobe::probe {
namespace {

std::uint16_t flags_of(const Waited& wait) {
  if (wait.error == 0) return wait.flags;
  return static_cast<std::uint16_t>(wait.flags | kRecordFailed | (wait.error == ETIMEDOUT ? kRecordTimedOut : 0));
}

// False: it needs a record after all.
bool sum_up(const Hook& hook, const Waited& wait) {
  SiteCounter* counters = short_waits_of(hook, wait.site);
  if (counters == nullptr) return false;
  add_span(counters->time, wait.end - wait.begin);
  if (wait.post != 0) {
    counters->waker_tid = post_tid(wait.post);
    add_span(counters->wake, wait.end - post_ticks(wait.post, wait.end));
  }
  return true;
}

}  // namespace

OpenWait wait_around(ThreadLocal& t, const ThreadEntry& entry) {
  if (in_signal_handler()) return entry.open;
  close_left_wait(t);
  return {};
}

std::uint16_t take_owed_stack(const void* site) {
  if (HP_LIKELY(t_local.owed_stack_site != site) || !trace_is_open()) return 0;
  t_local.owed_stack_site = nullptr;
  return sample_stack(ticks(), site, g_limits.stack_ticks);
}

void keep_wait(Hook& hook, const Waited& wait) {
  if (HP_UNLIKELY(is_held())) await_exec();
  mark_used(hook);
  if (wait.error == kDidNotBlock) {
    count_quiet();
    return;
  }
  std::uint64_t length = wait.end - wait.begin;
  if (length < g_limits.wait_ticks && wait.error == 0 && wait.flags == 0 && sum_up(hook, wait)) return;
  std::uint16_t stack = wait.stack;
  // The trace may have ended in the meantime, because of a filter that forbids what sampling calls.
  if (HP_UNLIKELY(length >= g_limits.short_stack_ticks) && stack == 0 && trace_is_open()) {
    if (wait.others_wait)
      t_local.owed_stack_site = wait.site;
    else
      stack = sample_stack(wait.end, wait.site, length);
  }
  Record* r = reserve_record();
  if (HP_UNLIKELY(r == nullptr)) return;
  r->begin_ticks = wait.begin;
  r->end_ticks = wait.end;
  r->a = reinterpret_cast<std::uint64_t>(wait.object);
  r->b = wait.post;
  r->c = reinterpret_cast<std::uint64_t>(wait.site);
  r->d = static_cast<std::uint64_t>(wait.result);
  r->e = wait.name;
  commit_record(r, hook, flags_of(wait), stack);
}

}  // namespace hostprobe::probe
