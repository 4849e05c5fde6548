// fix_list.h: the entries of a list of fixes, as HOSTPROBE_FIX and `hostprobe run --fix` have it.
//
// Room pure/. "pin, auto:gc,spin" has two: pin, and auto:gc,spin, because what stands behind "auto:" are names to the end.
#pragma once

#include <cstddef>

#include "name.h"

namespace hostprobe {

struct ListEntry {
  const char* begin = nullptr;
  std::size_t bytes = 0;
};

inline bool separates_fixes(char c) { return c == ',' || c == ' '; }

// The entry at `at`, which is behind it then. False: there are no more. `of_auto`: the list is what stands behind "auto:".
inline bool next_fix(const char*& at, ListEntry& entry, bool of_auto = false) {
  while (separates_fixes(*at)) ++at;
  if (*at == 0) return false;
  entry.begin = at;
  const bool to_the_end = !of_auto && behind_start(at, "auto:") != nullptr;
  while (*at != 0 && (to_the_end || !separates_fixes(*at))) ++at;
  entry.bytes = static_cast<std::size_t>(at - entry.begin);
  return true;
}

}  // namespace hostprobe
