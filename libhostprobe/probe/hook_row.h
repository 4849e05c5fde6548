// hook_row.h: the row of one hook in the library's table, and the pointers to what it hooks.
//
// Room 2 (probe/). The rows are constant and lie together in the ELF section hp_hooks, where `hostprobe hooks` finds
// them too; the pointers lie together in hp_state, one cache line a hook, because the hot path reads them.
#pragma once

#include <atomic>

#include "format/file.h"

namespace hostprobe::probe {

// How many different functions one driver hook can stand in front of at a time: cuGetProcAddress may answer with another
// address than dlsym, and a process may hold two copies of a library.
inline constexpr unsigned kCopies = 4;

struct alignas(64) Hook {
  void* real[kCopies];  // what is called; [0] only, except for driver functions
  const HookRow* row;
  void* const* wrappers;  // driver hooks: kCopies of them
  std::uint32_t used;     // 1 once it was called in this process
  std::uint16_t number;   // row index + 1, set by number_hooks()
};

extern "C" {
extern const HookRow __start_hp_hooks[] __attribute__((visibility("hidden")));
extern const HookRow __stop_hp_hooks[] __attribute__((visibility("hidden")));
extern Hook __start_hp_state[] __attribute__((visibility("hidden")));
extern Hook __stop_hp_state[] __attribute__((visibility("hidden")));
}

inline unsigned hook_count() { return static_cast<unsigned>(__stop_hp_hooks - __start_hp_hooks); }

void number_hooks();

}  // namespace hostprobe::probe
