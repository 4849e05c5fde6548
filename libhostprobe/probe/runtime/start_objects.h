// start_objects.h: the objects that the program starts with, and what they define.
//
// Room 2 (probe/). They are never unloaded and stay in the loader's list, so the list is read at any time without a lock.
#pragma once

#include <link.h>

#include <cstddef>

namespace hostprobe::probe {

// Notes the objects behind us, for later lookups without the loader's lock. True: the CUDA driver or NCCL is among the
// objects that the program starts with.
bool look_at_start_objects();
// What dlvsym(RTLD_NEXT) would find, among the objects that were there at the start, without the loader's lock. nullptr: it
// is not there, or only the loader can tell.
void* find_at_start(const char* name, const char* version);
// A function of libc itself, whoever stands in front of it. No lock is taken. nullptr: this libc has none.
void* libc_function(const char* name, const char* version);
// A variable that the loader exports, and its size; nullptr: it has none of this name.
const void* loader_object(const char* name, std::size_t& bytes);
// From here on our own calls of libc's functions are bound. Otherwise the loader binds each when it is made for the first time,
// for which it saves all registers: on the small stack of a signal handler there is no room for those of a wide CPU.
void bind_own_calls();
// Our own; nullptr: not found.
const link_map* own_object();
// The first of the loader's list, the program itself.
const link_map* first_object();
// Whether the program's malloc is libc's own. Any other may hold a lock while it waits for the loader, as jemalloc does to start a thread:
// then a thread of ours must not open anything, for dlopen allocates and holds the loader's lock. Known without a lock.
bool allocator_is_libcs();
// Whether dlsym, as the global scope means it, is ours. Known without a lock.
bool dlsym_is_ours();

// The objects that the program was started with, in the loader's order, which can be read without its lock; `last` is the
// last of them.
const link_map* start_objects(const link_map*& last);

// True for code of libhostprobe.so itself.
bool is_own_address(const void* address);

}  // namespace hostprobe::probe
