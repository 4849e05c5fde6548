// hook_by_name.h: the hook of a libc function, for a fix that is to stand in front of that.
//
// Room 2 (probe/). Cold.
#pragma once

#include <string.h>

#include "probe/record/hook_row.h"

namespace hostprobe::probe {

// Nullptr: there is none. Rows are linked once recording has begun.
inline Hook* hook_by_name(const char* name) {
  for (Hook* hook = __start_hp_state; hook != __stop_hp_state; ++hook)
    if (hook->row != nullptr && strcmp(hook->row->name, name) == 0) return hook;
  return nullptr;
}

}  // namespace hostprobe::probe
