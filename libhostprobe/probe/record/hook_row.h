// hook_row.h: the row of one hook in the library's table, and the pointers to what it hooks.
//
// Room 2 (probe/). The rows are constant and lie together in the ELF section hp_hooks, where `hostprobe hooks` finds
// them too; the pointers lie together in hp_state, one cache line a hook, because the hot path reads them. Both are free of
// relocations, which would make every process that starts write to all these pages: what belongs together stands as
// distances in hp_links, and becomes pointers when a process first needs them.
#pragma once

#include <atomic>

#include "format/file.h"

namespace hostprobe::probe {

// How many different functions one driver hook can stand in front of at a time: cuGetProcAddress may answer with another
// address than dlsym, and a process may hold two copies of a library.
inline constexpr unsigned kCopies = 4;

struct alignas(64) Hook {
  void* target[kCopies];            // what is called (replaced.h); [0] only, except for driver functions
  const HookRow* row;               // this and the next: set by link_hooks()
  void* (*wrapper)(unsigned copy);  // driver hooks: below kCopies
  std::uint32_t used;               // 1 once it was called in this process
  std::uint16_t number;             // row index + 1, set by link_hooks()
};

// Distances from the field itself to what it names; 0: nothing.
struct HookLink {
  std::int32_t hook, row, wrapper;
};

extern "C" {
extern const HookRow __start_hp_hooks[] __attribute__((visibility("hidden")));
extern const HookRow __stop_hp_hooks[] __attribute__((visibility("hidden")));
extern Hook __start_hp_state[] __attribute__((visibility("hidden")));
extern Hook __stop_hp_state[] __attribute__((visibility("hidden")));
extern const HookLink __start_hp_links[] __attribute__((visibility("hidden")));
extern const HookLink __stop_hp_links[] __attribute__((visibility("hidden")));
}

inline unsigned hook_count() { return static_cast<unsigned>(__stop_hp_hooks - __start_hp_hooks); }

template <class Pointer>
Pointer linked(const std::int32_t& distance) {
  return distance == 0 ? nullptr : reinterpret_cast<Pointer>(reinterpret_cast<std::uintptr_t>(&distance) + distance);
}

// Writes to no page, for processes that are not recorded.
inline const HookRow& row_of(const Hook& hook) {
  const HookLink* link = __start_hp_links;
  while (linked<const Hook*>(link->hook) != &hook) ++link;
  return *linked<const HookRow*>(link->row);
}

// What the hook of that number is; kOther for a number that none has.
inline HookRole role_of(std::uint16_t number) {
  return number == 0 || number > hook_count() ? HookRole::kOther
                                              : static_cast<HookRole>(__start_hp_hooks[number - 1].role);
}

// Which hook has that number. The states lie in the order of their rows.
inline const Hook* hook_of_number(std::uint16_t number) { return __start_hp_state + number - 1; }

// Threads may do it at the same time: they write the same.
inline void link_hooks() {
  for (const HookLink* link = __start_hp_links; link != __stop_hp_links; ++link) {
    Hook& hook = *linked<Hook*>(link->hook);
    hook.row = linked<const HookRow*>(link->row);
    hook.wrapper = linked<void* (*)(unsigned)>(link->wrapper);
    hook.number = static_cast<std::uint16_t>(hook.row - __start_hp_hooks + 1);
  }
}

}  // namespace hostprobe::probe
