// newer_function.h: functions of libc that the oldest glibc we support lacks.
//
// Room 2 (probe/). An export would make them look present there, to weak references and to dlsym, and calls would go nowhere
// (docs/decisions/0010-newer-functions.md). So when a process begins to record, the slots are patched through which the
// objects that it started with call them. Cold; takes no lock of the loader's.
#pragma once

#include "probe/record/hook_row.h"

namespace hostprobe::probe {

// Does nothing where no object has the function. Another interposer's, where it comes first, is what is called.
void stand_in_front_of(const char* name, const char* version, Hook& hook, void* wrapper);

// All of them, each beside its hook. Children of a fork have the patched slots already.
void hook_newer_functions();

}  // namespace hostprobe::probe
