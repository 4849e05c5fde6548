// name.h: names in texts that end in a zero, compared without libc.
//
// Room pure/.
#pragma once

namespace hostprobe {

// What follows `start` in `text`; null: it begins otherwise.
inline const char* behind_start(const char* text, const char* start) {
  while (*start != 0)
    if (*text++ != *start++) return nullptr;
  return text;
}

inline bool is_same_name(const char* a, const char* b) {
  const char* rest = behind_start(a, b);
  return rest != nullptr && *rest == 0;
}

}  // namespace hostprobe
