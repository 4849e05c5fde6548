// resolve.h: finding the real function behind a hook, and which library an address belongs to.
//
// Room 2 (probe/). Cold: run by the first call of a hook, when recording starts, and by the lookups of routes.cpp. The
// constructor finds nothing: most programs that a job starts are never recorded and end after a millisecond.
#pragma once

#include <link.h>

#include <cstddef>

#include "probe/record/hook_row.h"

extern "C" {
// The dlsym that comes after ours in the program's search order, perhaps another interposer's: the assembly stub jumps
// there. Set by find_dlsym().
__attribute__((visibility("hidden"))) extern void* (*hp_next_dlsym)(void*, const char*);
}

namespace hostprobe::probe {

// libc's own dlsym, for our lookups.
extern void* (*real_dlsym)(void* handle, const char* name);

void find_own_dlsym();
// The one above and hp_next_dlsym, which takes the loader's lock: in calls that take it themselves.
void find_dlsym();
// All hooks of libc. Opens nothing and takes no lock.
void find_libc_functions();
// `name` in the objects after ours, else in any loaded object: a library that was opened RTLD_LOCAL (PyTorch opens NCCL
// so) calls our hook although RTLD_NEXT does not see it. nullptr: nowhere.
void* find_behind_us(const char* name, const char* version);

}  // namespace hostprobe::probe
