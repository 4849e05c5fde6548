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
// Notes the objects behind us, for later lookups without the loader's lock. True: the CUDA driver or NCCL is among the
// objects that the program starts with.
bool look_at_start_objects();
// All hooks of libc. Opens nothing and takes no lock.
void find_libc_functions();
// What dlvsym(RTLD_NEXT) would find, among the objects that were there at the start, without the loader's lock. nullptr: it
// is not there, or only the loader can tell.
void* find_at_start(const char* name, const char* version);
// A function of libc itself, whoever stands in front of it. No lock is taken. nullptr: this libc has none.
void* libc_function(const char* name, const char* version);
// A variable that the loader exports, and its size; nullptr: it has none of this name.
const void* loader_object(const char* name, std::size_t& bytes);
// The first of the loader's list, the program itself.
const link_map* first_object();
// Whether dlsym, as the global scope means it, is ours. Known without a lock.
bool dlsym_is_ours();
// `name` in the objects after ours, else in any loaded object: a library that was opened RTLD_LOCAL (PyTorch opens NCCL
// so) calls our hook although RTLD_NEXT does not see it. nullptr: nowhere.
void* find_behind_us(const char* name, const char* version);

// The objects that the program was started with, in the loader's order, which can be read without its lock; `last` is the
// last of them.
const link_map* start_objects(const link_map*& last);

// True for code of libhostprobe.so itself.
bool is_own_address(const void* address);

}  // namespace hostprobe::probe
