// architecture.h: what differs between the CPUs and kernels that the probe knows, each under the same names.
//
// Room 2 (probe/), the lowest part. One folder an architecture, with the same files in each: counter.h (ticks, pauses, additions),
// kernel_call.h (system calls), own_word.h (changes that a signal cannot split), object.h (relocations, versions of glibc),
// unwind_frame.h (registers), interrupted.h (what a signal leaves on a stack), and the functions in assembly.
#pragma once

#if defined(__x86_64__)
#include "probe/arch/x86_64/counter.h"
#include "probe/arch/x86_64/interrupted.h"
#include "probe/arch/x86_64/kernel_call.h"
#include "probe/arch/x86_64/object.h"
#include "probe/arch/x86_64/own_word.h"
#include "probe/arch/x86_64/unwind_frame.h"
#elif defined(__aarch64__)
#include "probe/arch/aarch64/counter.h"
#include "probe/arch/aarch64/interrupted.h"
#include "probe/arch/aarch64/kernel_call.h"
#include "probe/arch/aarch64/object.h"
#include "probe/arch/aarch64/own_word.h"
#include "probe/arch/aarch64/unwind_frame.h"
#else
#error "hostprobe's probe knows x86-64 and aarch64"
#endif
