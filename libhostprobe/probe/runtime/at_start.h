// at_start.h: what the constructor is made of: where its code and variables lie, and what it uses in place of libc.
//
// Room 2 (probe/). Most processes below a job do nothing but start and end. Each page that such a one touches for the first
// time is a page fault, and each function of libc that it calls for the first time is a symbol look-up in pages nobody has
// touched: so variables and code lie together (layout.ld), and the little that is needed of strings stands
// here, system calls in arch/. The empty asm in loops keeps the compiler from making calls of memcpy and strlen of them.
#pragma once

#include <cstddef>

#include "probe/arch/architecture.h"

#define HP_START_DATA __attribute__((section(".bss.hp_start")))  // all of it begins as zero
#define HP_START_CODE __attribute__((section(".text.startup.hp")))

namespace hostprobe::probe {

inline long word_of_pointer(const void* pointer) { return reinterpret_cast<long>(pointer); }

inline std::size_t length_of(const char* text) {
  std::size_t length = 0;
  while (text[length] != 0) asm("" : "+r"(++length));
  return length;
}

// With the final zero; `to` must have room.
inline void copy_string(char* to, const char* from) {
  do asm("" : "+r"(from));
  while ((*to++ = *from++) != 0);
}

// What follows `start` in `text`; nullptr: it begins otherwise.
inline const char* after(const char* text, const char* start) {
  while (*start != 0)
    if (*text++ != *start++) return nullptr;
  return text;
}

inline bool same(const char* a, const char* b) {
  const char* rest = after(a, b);
  return rest != nullptr && *rest == 0;
}

inline const char* value_of(char** environment, const char* name) {
  for (char** e = environment; e != nullptr && *e != nullptr; ++e) {
    if (**e != *name) continue;  // most of them
    const char* rest = after(*e, name);
    if (rest != nullptr && *rest == '=') return rest + 1;
  }
  return nullptr;
}

}  // namespace hostprobe::probe
