// routes.h: the ways by which a program gets at the CUDA driver and at NCCL, and our wrappers on each of them.
//
// Room 2 (probe/). Three routes exist in real programs, often all in one process: dlsym (dlsym.S of arch/ asks
// hp_match_dlsym here), cuGetProcAddress, and GOT slots of objects linked to the library (got.cpp). Nothing named cu* or
// nccl* is exported: a program may export *variables* of these names (docs/decisions/0004-driver-routes.md), and an
// export would make an absent library look present.
#pragma once

#include <cstddef>
#include <cstdint>

#include "probe/runtime/elf_object.h"
#include "probe/runtime/library.h"

namespace hostprobe::probe {

struct Hook;

// Looks at objects loaded since the last time: learns libraries, patches slots. Two loads when nothing was loaded.
enum class ScanBy {
  kLookup,   // a call that takes the loader's lock itself, and whose answer matters: waits for whoever is at it
  kPassing,  // any other: takes nobody's time, and no lock that somebody may hold who waits for this thread
};
void scan_new_objects(ScanBy by);
// In the constructor: there is no library among the objects that the program starts with.
void nothing_to_scan_yet();
// The process is recorded from now on: the next scan looks at those objects as well. They may look for a tool of NVTX.
void scan_start_objects_too();

// A wrapper or passage (passages.h) that stands in front of `real`, found under `name`; nullptr: not a function for either.
void* wrapper_for(const char* name, void* real);
bool is_routed_name(const char* name);
// The same name where it stays as long as the library; nullptr: not a routed one.
const char* lasting_name(const char* name);
// The hook of an exported name; nullptr: not one of ours.
Hook* routed_hook(const char* name);
// True for code of a library of this kind that was seen.
bool is_address_of(Library library, const void* address);
// `name` in the first library of its kind that has it.
void* routed_function(const char* name);
// False: none has it.
template <class Function>
bool find_routed(Function& function, const char* name) {
  function = reinterpret_cast<Function>(routed_function(name));
  return function != nullptr;
}

// Called by got.cpp's scan with all such libraries that are loaded: others were closed before they were pinned.
struct LoadedLibrary {
  Library library;
  ElfObject object;
};
void learn_libraries(const LoadedLibrary* found, unsigned count);
// Constructor, after its scan: what was loaded with the program is never unloaded.
void trust_start_libraries();
// Keeps the other known libraries loaded: wrappers hold their addresses. Opens them once more, so it takes the loader's lock.
void pin_libraries();

// The name of a kernel by cuFuncGetName or cuKernelGetName; nullptr when the driver cannot tell.
const char* driver_kernel_name(const void* function);

// Functions that could not be wrapped because more different addresses than kCopies were met.
std::uint32_t unwrapped_functions();

}  // namespace hostprobe::probe
