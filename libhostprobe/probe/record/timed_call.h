// timed_call.h: a call that a hook stands in front of, with the four moments of the hook.
//
//   before  always: makes order right. Only hooks that a fix needs have one
//   call    always: the target, which is the real function or a fix that stands in front of it (replaced.h)
//   track   always, also while paused and when the record is lost: keeps our own state true
//   fill    only when there is a record
//
// A call that puts work into a stream also tells which: that is looked at where the gate says that a launch is sampled, and after the
// call while a capture or a stretch of timed work is open.
//
// Room 2 (probe/). This is the hot path: it runs inside the program's launches. Price of a recorded call: 2 rdtsc, the slot
// (record_slot.h), 4 predictable branches, 2 cache lines of ours besides the record. Nothing here is noexcept: a thread may be
// cancelled inside the real call and is then unwound through us. The moments are lambdas of the hook; unit tests give fakes.
#pragma once

#include <type_traits>

#include "probe/record/limits.h"
#include "probe/record/record_slot.h"
#include "probe/runtime/clock.h"

namespace hostprobe::probe {

inline constexpr int kLaunch = 1;
inline constexpr int kBlocking = 2;
inline constexpr int kOther = 0;
inline constexpr int kPolled = 3;  // asked in loops: a record only when it took long

// Of a call that puts nothing into a stream, or nobody knows which; others give a WorkQueue.
struct NoQueue {};
template <int kind, class Queue>
__attribute__((always_inline)) inline bool gpu_call_recorded(const Hook& hook, Queue queue) {
  if constexpr (kind != kLaunch) return recording_or_begun(Moment::kGpu);
  if (recording_launches()) return true;
  if (!begin_launch(hook)) return false;
  if constexpr (!std::is_same_v<Queue, NoQueue>)
    if (sample_is_due()) sample_queue(queue().stream, queue().per_thread);
  return true;
}

// 7 is ncclInProgress: the call was taken.
constexpr std::uint16_t flags_of(Family family, int result) {
  return result == 0 || (family == Family::kNccl && result == 7) ? 0 : kRecordFailed;
}

template <class T>
std::uint64_t word_of(T value) {
  if constexpr (std::is_pointer_v<T>)
    return reinterpret_cast<std::uint64_t>(value);
  else
    return static_cast<std::uint64_t>(value);
}

// What `track` gives where there is nothing to track.
struct Nothing {};

// Inlined into the wrapper, so that rec.c gets the address of the wrapper's caller.
template <int kind, Family family, class Before, class Call, class Track, class Fill, class Queue = NoQueue>
__attribute__((always_inline)) inline auto timed_call(Hook& hook, Before before, Call call, Track track, Fill fill,
                                                      Queue queue = {}) {
  using Result = decltype(call());
  constexpr bool tracks = !std::is_same_v<decltype(track(std::declval<Result>())), Nothing>;
  before();
  if (HP_UNLIKELY((!gpu_call_recorded<kind>(hook, queue)))) {
    if constexpr (!tracks) return call();
    Result result = call();
    track(result);
    return result;
  }
  std::uint64_t begin = ticks();
  Result result = call();
  std::uint64_t end = ticks();
  auto note = track(result);
  if constexpr (kind == kPolled) {
    if (HP_LIKELY(end - begin < g_limits.polled_ticks)) {
      count_quiet();
      mark_used(hook);
      return result;
    }
  }
  // Looked at only while a capture or a stretch is open anywhere in this process: one load else, and nothing is kept for it.
  if constexpr (!std::is_same_v<Queue, NoQueue>)
    if (HP_UNLIKELY(__atomic_load_n(&g_gate.captures, __ATOMIC_RELAXED) != 0) && result == 0)
      look_at_enqueued(queue(), begin);
  Record* rec = reserve_record();
  if (HP_UNLIKELY(rec == nullptr)) {
    if constexpr (!std::is_same_v<Queue, NoQueue>) t_local.lap_and_mark &= ~(std::uint32_t{kRecordCaptured} << 16);
    return result;
  }
  rec->begin_ticks = begin;
  rec->end_ticks = end;
  rec->c = reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
  std::uint16_t flags = fill(*rec, result, note);
  commit_record(rec, hook, static_cast<std::uint16_t>(flags | flags_of(family, static_cast<int>(result))), 0);
  return result;
}

}  // namespace hostprobe::probe
