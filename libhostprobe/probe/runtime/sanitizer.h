// sanitizer.h: living with a sanitizer's runtime in the same process.
//
// Room 2 (probe/). ASan, TSan, MSan and LSan put functions of their own in front of hundreds of libc's: strcmp, open,
// dl_iterate_phdr, __cxa_atexit. Until the runtime has made itself ready these call null; TSan's and MSan's begin to make
// it ready when they are called, which is too early in our constructor; and to do it the runtime calls dlsym, hence us.
// Later they still take our calls for the program's, and a thread they did not see begin for one that was never born.
#pragma once

#include <link.h>

namespace hostprobe::probe {

// Whether an object of this file name is a sanitizer's runtime, and whether the program has one in itself.
bool is_sanitizer(const char* file);
bool holds_sanitizer(const link_map& program);

// Found among the objects that the program starts with. Then our own thread, which the runtime has not seen begin, must not allocate: TSan's malloc crashes there.
extern bool g_has_sanitizer;

// From here on our own calls of libc's functions end in libc, whoever stands in front of it.
void call_libc_itself(const link_map& own, const link_map& libc);

}  // namespace hostprobe::probe
