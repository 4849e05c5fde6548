// driver_routes.h: the ways by which a program gets at the CUDA driver, and our wrappers on each of them.
//
// Room 2 (probe/). Three routes exist in real programs, often all in one process: dlsym (dlsym_x86_64.S asks
// hp_match_dlsym here), cuGetProcAddress, and GOT slots of objects linked to libcuda.so.1 (got.cpp). Nothing named cu* is
// exported: a program may export *variables* of these names (docs/decisions/0004-driver-routes.md).
#pragma once

#include <cstddef>
#include <cstdint>

namespace hostprobe::probe {

struct ElfObject;

// Looks at objects loaded since the last time: learns libcuda, patches slots. Cheap when nothing was loaded.
void scan_new_objects();

// A wrapper that stands in front of `real`, found under `name`; nullptr: not a function we hook.
void* wrapper_for(const char* name, void* real);
bool is_driver_name(const char* name);
// True for code of a libcuda.so.1 that was seen.
bool is_driver_address(const void* address);

// Called by got.cpp's scan for an object that is a CUDA driver library.
void learn_driver(const ElfObject& object);
// Keeps known drivers loaded: wrappers hold their addresses. Not in our constructor: it opens them once more, which would
// run initialisers before libc's.
void pin_drivers();
// `name` in the first driver that has it.
void* driver_function(const char* name);

// The name of a kernel by cuFuncGetName or cuKernelGetName; nullptr when the driver cannot tell.
const char* driver_kernel_name(const void* function);

// Functions that could not be wrapped because more different addresses than kCopies were met.
std::uint32_t unwrapped_functions();

}  // namespace hostprobe::probe
