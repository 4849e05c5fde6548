// replaced.h: a fix stands in front of a function for as long as it is needed.
//
// Room 2 (probe/). Hooks call Hook::target. Usually that is the function itself; while a fix stands there, the function is kept
// here. So a call that no fix touches pays nothing for it. Cold, without locks, by any thread.
#pragma once

#include "probe/record/hook_row.h"

namespace hostprobe::probe {

// The fix that calls the function behind the given copy of a hook (original_of). Code of ours, so it is never unloaded:
// calls that are in it when it is taken away again come back from it.
using FixOfCopy = void* (*)(unsigned copy);

// From now on calls go to `fix`, also those of copies that come later. False: another fix stands there, or no place is left.
bool replace_target(Hook& hook, FixOfCopy fix);
void restore_target(Hook& hook);
// What `fix` stands in front of, also while calls are still in it after it was taken away.
void* original_of(const Hook& hook, unsigned copy);

// Has the given copy of the hook stand in front of `real`. False: it stands in front of another function.
bool take_copy(Hook& hook, unsigned copy, void* real);

}  // namespace hostprobe::probe
