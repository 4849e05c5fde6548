// hook.h: HP_HOOK and the timed call. This is the hot path: it runs inside the program's launches and waits.
//
// Room 2 (probe/). Price of a recorded call: 2 rdtsc, 1 unlocked xadd, 8 stores into one cache line, 3 predictable
// branches, 2 cache lines of ours besides the record. No lock, no allocation, no system call, except when a chunk is
// taken. Nothing here is noexcept: a thread may be cancelled inside the real call and is then unwound through us.
#pragma once

#include <atomic>
#include <type_traits>

#include "probe/record/doors.h"
#include "probe/record/gate.h"
#include "probe/record/limits.h"
#include "probe/record/thread.h"
#include "probe/runtime/clock.h"

namespace hostprobe::probe {

inline bool recording() { return HP_LIKELY(g_gate.recording != 0) && HP_LIKELY(t_local.muted == 0); }
inline bool recording_launches() { return HP_LIKELY(g_gate.recording == kEverything) && HP_LIKELY(t_local.muted == 0); }

// False for good when the process is not a target; cheap then: two loads.
inline bool recording_or_begun(Moment moment) { return recording() || begin_recording(moment); }

inline bool launch_recorded(const Hook& hook) { return recording_launches() || begin_launch(hook); }

Record* reserve_in_new_chunk();

// Next slot of the calling thread, or nullptr when the record is lost (and counted). One instruction takes the slot, so
// that a signal handler's hook on this thread takes the next one and not the same.
inline Record* reserve_record() {
  ThreadLocal& t = t_local;
  asm volatile("incl %0" : "+m"(t.filling) : : "memory");  // nothing of the record is stored outside of the count
  std::uintptr_t slot = sizeof(Record);
  asm volatile("xaddq %0, %1" : "+r"(slot), "+m"(t.cursor) : : "memory");
  // The line of the fourth call from here, for writing: without it a store waits for a line that another core had last.
  asm volatile("prefetchw %0" : : "m"(*reinterpret_cast<const char*>(slot + 4 * sizeof(Record))));
  if (HP_LIKELY(slot < t.end)) return reinterpret_cast<Record*>(slot);
  return reserve_in_new_chunk();
}

// Makes the record valid: everything else is stored before its last word.
inline void commit_record(Record* r, const Hook& hook, std::uint16_t flags, std::uint16_t stack) {
  ThreadLocal& t = t_local;
  std::uint32_t lap_and_mark = t.lap_and_mark;
  t.lap_and_mark = lap_and_mark & 0xffff;  // as wide as it is read, or the next call waits until it is in the cache
  std::uint64_t last = std::uint64_t{hook.number} | std::uint64_t{lap_and_mark} << 16 | std::uint64_t{flags} << 32 |
                       std::uint64_t{stack} << 48;
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(&r->hook), last, __ATOMIC_RELEASE);
  asm volatile("decl %0" : "+m"(t.filling) : : "memory");
}

// A reservation that came to nothing is finished too.
inline void drop_record() { asm volatile("decl %0" : "+m"(t_local.filling) : : "memory"); }

inline void count_quiet() {
  if (ThreadEntry* e = t_local.entry) asm volatile("incq %0" : "+m"(e->quiet_calls));
}

inline void mark_used(Hook& hook) {
  if (HP_UNLIKELY(hook.used == 0)) hook.used = 1;
}

template <class Pointer>
Pointer real_of(const Hook& hook, unsigned copy = 0) {
  return reinterpret_cast<Pointer>(hook.real[copy]);
}

template <class Pointer>
Pointer libc_real(Hook& hook) {
  if (HP_UNLIKELY(hook.real[0] == nullptr)) find_real(hook);
  return real_of<Pointer>(hook);
}

template <class Result, class... Args>
__attribute__((noinline, cold)) Result resolve_and_call(Hook& hook, Args... args) {
  return libc_real<Result (*)(Args...)>(hook)(args...);
}

// Calls the real function as the last thing that a hook does: what is rare is apart, so that no register is saved for it.
template <class Result, class... Args>
Result libc_call(Hook& hook, Args... args) {
  if (HP_UNLIKELY(hook.real[0] == nullptr)) return resolve_and_call<Result>(hook, args...);
  return real_of<Result (*)(Args...)>(hook)(args...);
}

}  // namespace hostprobe::probe

// The constant row and the pointers of one hook, and the distances between them; g_hook_<name> is what the hook's code uses.
// alignas(8) on the row: without it the compiler pads rows of 184 bytes and the section is no table any more.
#define HP_LINKED_ROW(family_, name_, versions_, blocking_, launch_, wrapper_, l0, l1, l2, l3, l4)                     \
  alignas(8) __attribute__((section("hp_hooks"), used)) static const ::hostprobe::HookRow g_row_##name_ __asm__(       \
      "hp_row_" #name_) = {                                                                                            \
      #name_,  versions_, {l0, l1, l2, l3, l4}, static_cast<std::uint8_t>(::hostprobe::Family::family_), 0, blocking_, \
      launch_, 0};                                                                                                     \
  __attribute__((section("hp_state"), used)) static ::hostprobe::probe::Hook g_hook_##name_ __asm__(                   \
      "hp_hook_" #name_) = {};                                                                                         \
  __asm__(".pushsection hp_links, \"a\", @progbits\n\t.balign 4\n\t.long hp_hook_" #name_                              \
          " - .\n\t.long hp_row_" #name_ " - .\n\t.long " wrapper_ "\n\t.popsection");

// Of a function of libc; `wrappers_` is nullptr.
#define HP_ROW(family_, name_, versions_, blocking_, launch_, wrappers_, l0, l1, l2, l3, l4) \
  HP_LINKED_ROW(family_, name_, versions_, blocking_, launch_, "0", l0, l1, l2, l3, l4)

// One function of a library that is reached by more than one route (routes.h): the CUDA driver, NCCL. `kind` is one
// of those below. The body fills `rec` from the arguments and `result`; `rec.c` holds the caller's address when it starts.
// Instantiated kCopies times: each copy stands in front of one real address. Never exported, see decision 4.
#define HP_ROUTED_HOOK(family, Result, kind, name, params, args, l0, l1, l2, l3, l4)                                 \
  namespace {                                                                                                        \
  HP_LINKED_ROW(family, name, "", (kind) == ::hostprobe::probe::kBlocking, (kind) == ::hostprobe::probe::kLaunch,    \
                "hp_wrapper_" #name " - .", l0, l1, l2, l3, l4)                                                      \
  struct Fill_##name {                                                                                               \
    ::hostprobe::Record& rec;                                                                                        \
    Result result;                                                                                                   \
    inline void operator() params;                                                                                   \
  };                                                                                                                 \
  template <unsigned copy>                                                                                           \
  Result wrap_##name params {                                                                                        \
    auto real = ::hostprobe::probe::real_of<Result(*) params>(g_hook_##name, copy);                                  \
    if (HP_UNLIKELY(!::hostprobe::probe::gpu_call_recorded<kind>(g_hook_##name))) return real args;                  \
    std::uint64_t begin = ::hostprobe::probe::ticks();                                                               \
    Result result = real args;                                                                                       \
    std::uint64_t end = ::hostprobe::probe::ticks();                                                                 \
    if constexpr ((kind) == ::hostprobe::probe::kPolled) {                                                           \
      if (HP_LIKELY(end - begin < ::hostprobe::probe::g_limits.polled_ticks)) {                                      \
        ::hostprobe::probe::count_quiet();                                                                           \
        ::hostprobe::probe::mark_used(g_hook_##name);                                                                \
        return result;                                                                                               \
      }                                                                                                              \
    }                                                                                                                \
    ::hostprobe::Record* rec = ::hostprobe::probe::reserve_record();                                                 \
    if (HP_UNLIKELY(rec == nullptr)) return result;                                                                  \
    rec->begin_ticks = begin;                                                                                        \
    rec->end_ticks = end;                                                                                            \
    rec->c = reinterpret_cast<std::uint64_t>(__builtin_return_address(0));                                           \
    Fill_##name{*rec, result} args;                                                                                  \
    ::hostprobe::probe::commit_record(                                                                               \
        rec, g_hook_##name, ::hostprobe::probe::flags_of(::hostprobe::Family::family, static_cast<int>(result)), 0); \
    return result;                                                                                                   \
  }                                                                                                                  \
  __attribute__((used)) void* wrapper_##name(unsigned copy) __asm__("hp_wrapper_" #name);                            \
  void* wrapper_##name(unsigned copy) {                                                                              \
    return copy == 0   ? reinterpret_cast<void*>(&wrap_##name<0>)                                                    \
           : copy == 1 ? reinterpret_cast<void*>(&wrap_##name<1>)                                                    \
           : copy == 2 ? reinterpret_cast<void*>(&wrap_##name<2>)                                                    \
                       : reinterpret_cast<void*>(&wrap_##name<3>);                                                   \
  }                                                                                                                  \
  }                                                                                                                  \
  inline void Fill_##name::operator() params

#define HP_DRIVER_HOOK(kind, name, params, args, l0, l1, l2, l3, l4) \
  HP_ROUTED_HOOK(kCuda, CUresult, kind, name, params, args, l0, l1, l2, l3, l4)

// The usual driver hook: four words that stand in the arguments, and the caller's address.
#define HP_DRIVER_CALL(kind, name, params, args, l0, l1, l3, l4, w0, w1, w3, w4)      \
  HP_DRIVER_HOOK(kind, name, params, args, l0, l1, "site:code", l3, l4) {             \
    rec.a = ::hostprobe::probe::word_of(w0), rec.b = ::hostprobe::probe::word_of(w1); \
    rec.d = ::hostprobe::probe::word_of(w3), rec.e = ::hostprobe::probe::word_of(w4); \
  }

namespace hostprobe::probe {
inline constexpr int kLaunch = 1;
inline constexpr int kBlocking = 2;
inline constexpr int kOther = 0;
inline constexpr int kPolled = 3;  // asked in loops: a record only when it took long

template <int kind>
bool gpu_call_recorded(const Hook& hook) {
  if constexpr (kind == kLaunch)
    return launch_recorded(hook);
  else
    return recording_or_begun(Moment::kGpu);
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
}  // namespace hostprobe::probe
