// compiler.h: what the compiler is told besides the language.
//
// Room 2 (probe/).
#pragma once

#define HP_LIKELY(x) __builtin_expect(!!(x), 1)
#define HP_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define HP_EXPORT __attribute__((visibility("default")))
// Of a variable: nobody else has one of this name, so it is read without looking up where it is.
#define HP_OURS __attribute__((visibility("hidden")))
