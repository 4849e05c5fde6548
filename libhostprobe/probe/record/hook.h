// hook.h: what a hook is made of: its row, its pointers, and the wrapper with the four moments (timed_call.h).
//
// Room 2 (probe/). One block in one file of hooks/ makes the row, the look-up, the timed call and the labels in the report.
#pragma once

#include "probe/record/launch_order.h"
#include "probe/record/timed_call.h"

namespace hostprobe::probe {

template <class Pointer>
Pointer target_of(const Hook& hook, unsigned copy = 0) {
  return reinterpret_cast<Pointer>(hook.target[copy]);
}

template <class Pointer>
Pointer libc_target(Hook& hook) {
  if (HP_UNLIKELY(hook.target[0] == nullptr)) find_real(hook);
  return target_of<Pointer>(hook);
}

template <class Result, class... Args>
__attribute__((noinline, cold)) Result resolve_and_call(Hook& hook, Args... args) {
  return libc_target<Result (*)(Args...)>(hook)(args...);
}

// Calls the real function as the last thing that a hook does: what is rare is apart, so that no register is saved for it.
template <class Result, class... Args>
Result libc_call(Hook& hook, Args... args) {
  if (HP_UNLIKELY(hook.target[0] == nullptr)) return resolve_and_call<Result>(hook, args...);
  return target_of<Result (*)(Args...)>(hook)(args...);
}

// Calls of the driver that wait, or ask how far it is, tell of launches that failed before them.
template <int kind, Family family, class Result>
Result reported(Result result) {
  if constexpr (family == Family::kCuda && (kind == kBlocking || kind == kPolled)) return with_launch_error(result);
  return result;
}

constexpr bool has_suffix(const char* name, const char* suffix) {
  const char* end = name;
  while (*end != 0) ++end;
  const char* last = suffix;
  while (*last != 0) ++last;
  if (end - name < last - suffix) return false;
  for (const char* at = end - (last - suffix); *at != 0; ++at, ++suffix)
    if (*at != *suffix) return false;
  return true;
}

// The driver exports most functions twice: cuda.h puts one of these behind the name where stream 0 is the calling thread's own.
constexpr bool is_per_thread(const char* name) { return has_suffix(name, "_ptsz") || has_suffix(name, "_ptds"); }
constexpr std::uint8_t traits_of_form(const char* name) { return is_per_thread(name) ? kTraitPerThread : 0; }

}  // namespace hostprobe::probe

// The constant row and the pointers of one hook, and the distances between them; g_hook_<name> is what the hook's code uses.
// alignas(8) on the row: without it the compiler pads rows of 184 bytes and the section is no table any more.
#define HP_LINKED_ROW(family_, role_, name_, versions_, blocking_, launch_, type_, wrapper_, l0, l1, l2, l3, l4) \
  alignas(8) __attribute__((section("hp_hooks"), used)) static const ::hostprobe::HookRow g_row_##name_ __asm__( \
      "hp_row_" #name_) = {#name_,                                                                               \
                           versions_,                                                                            \
                           {l0, l1, l2, l3, l4},                                                                 \
                           static_cast<std::uint8_t>(::hostprobe::Family::family_),                              \
                           0,                                                                                    \
                           blocking_,                                                                            \
                           launch_,                                                                              \
                           ::hostprobe::type_,                                                                   \
                           static_cast<std::uint8_t>(::hostprobe::HookRole::role_),                              \
                           ::hostprobe::probe::traits_of_form(#name_),                                           \
                           0};                                                                                   \
  __attribute__((section("hp_state"), used)) static ::hostprobe::probe::Hook g_hook_##name_ __asm__(             \
      "hp_hook_" #name_) = {};                                                                                   \
  __asm__(".pushsection hp_links, \"a\", @progbits\n\t.balign 4\n\t.long hp_hook_" #name_                        \
          " - .\n\t.long hp_row_" #name_ " - .\n\t.long " wrapper_ "\n\t.popsection");

// Of a function of libc, or of hostprobe itself.
#define HP_ROW(family_, role_, name_, versions_, blocking_, launch_, l0, l1, l2, l3, l4) \
  HP_LINKED_ROW(family_, role_, name_, versions_, blocking_, launch_, kRowCall, "0", l0, l1, l2, l3, l4)

// Of what a program says of its own time; it is no function that anybody calls.
#define HP_RANGE_ROW(type_, role_, name_, l0, l1, l2, l3, l4) \
  HP_LINKED_ROW(kRange, role_, name_, "", 0, 0, type_, "0", l0, l1, l2, l3, l4)

// One function of a library that is reached by more than one route (routes.h): the CUDA driver, NCCL. `kind` is one
// of those in timed_call.h, `role` what the function is to everybody else (format/hook_role.h). The body fills `rec` from the arguments, `result` and `note`; `rec.c` holds the caller's address
// when it starts, and what it puts into `record_flags` is added to the record's. `track` is an expression with `result` and the
// arguments, evaluated after every call, recorded or not; what it gives is the body's `note`. `before` is one with the
// arguments, `queue` a lambda that names a launch's stream, or NoQueue. Instantiated kCopies times: each copy stands in front of one real address. Never exported, see decision 4.
#define HP_MOMENTS_HOOK(family, Result, kind, role, name, params, args, Note, before, track, queue, l0, l1, l2, l3, \
                        l4)                                                                                         \
  namespace {                                                                                                       \
  HP_LINKED_ROW(family, role, name, "", (kind) == ::hostprobe::probe::kBlocking,                                    \
                (kind) == ::hostprobe::probe::kLaunch, kRowCall, "hp_wrapper_" #name " - .", l0, l1, l2, l3, l4)    \
  struct Fill_##name {                                                                                              \
    ::hostprobe::Record& rec;                                                                                       \
    [[maybe_unused]] Result result;                                                                                 \
    [[maybe_unused]] Note note;                                                                                     \
    std::uint16_t record_flags;                                                                                     \
    inline void operator() params;                                                                                  \
  };                                                                                                                \
  template <unsigned copy>                                                                                          \
  Result wrap_##name params {                                                                                       \
    auto target = ::hostprobe::probe::target_of<Result(*) params>(g_hook_##name, copy);                             \
    return ::hostprobe::probe::timed_call<kind, ::hostprobe::Family::family>(                                       \
        g_hook_##name, [&] { before; },                                                                             \
        [&] { return ::hostprobe::probe::reported<kind, ::hostprobe::Family::family>(target args); },               \
        [&]([[maybe_unused]] Result result) -> Note { return track; },                                              \
        [&](::hostprobe::Record& rec, Result result, Note note) {                                                   \
          Fill_##name fill{rec, result, note, 0};                                                                   \
          fill args;                                                                                                \
          return fill.record_flags;                                                                                 \
        },                                                                                                          \
        queue);                                                                                                     \
  }                                                                                                                 \
  __attribute__((used)) void* wrapper_##name(unsigned copy) __asm__("hp_wrapper_" #name);                           \
  void* wrapper_##name(unsigned copy) {                                                                             \
    return copy == 0   ? reinterpret_cast<void*>(&wrap_##name<0>)                                                   \
           : copy == 1 ? reinterpret_cast<void*>(&wrap_##name<1>)                                                   \
           : copy == 2 ? reinterpret_cast<void*>(&wrap_##name<2>)                                                   \
                       : reinterpret_cast<void*>(&wrap_##name<3>);                                                  \
  }                                                                                                                 \
  }                                                                                                                 \
  inline void Fill_##name::operator() params

// Most have nothing to keep true. None of these launches kernels, so those that wait go first.
#define HP_ROUTED_HOOK(family, Result, kind, role, name, params, args, l0, l1, l2, l3, l4)     \
  HP_MOMENTS_HOOK(family, Result, kind, role, name, params, args, ::hostprobe::probe::Nothing, \
                  ::hostprobe::probe::launches_first(), {}, ::hostprobe::probe::NoQueue{}, l0, l1, l2, l3, l4)
#define HP_TRACKED_HOOK(family, Result, kind, role, name, params, args, Note, track, l0, l1, l2, l3, l4)             \
  HP_MOMENTS_HOOK(family, Result, kind, role, name, params, args, Note, ::hostprobe::probe::launches_first(), track, \
                  ::hostprobe::probe::NoQueue{}, l0, l1, l2, l3, l4)

#define HP_DRIVER_HOOK(kind, role, name, params, args, l0, l1, l2, l3, l4) \
  HP_ROUTED_HOOK(kCuda, CUresult, kind, role, name, params, args, l0, l1, l2, l3, l4)

// The usual driver hook: four words that stand in the arguments, and the caller's address.
#define HP_DRIVER_CALL(kind, role, name, params, args, l0, l1, l3, l4, w0, w1, w3, w4) \
  HP_DRIVER_HOOK(kind, role, name, params, args, l0, l1, "site:code", l3, l4) {        \
    rec.a = ::hostprobe::probe::word_of(w0), rec.b = ::hostprobe::probe::word_of(w1);  \
    rec.d = ::hostprobe::probe::word_of(w3), rec.e = ::hostprobe::probe::word_of(w4);  \
  }
