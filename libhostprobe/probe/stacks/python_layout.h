// python_layout.h: whether the table of offsets that an interpreter carries can be believed.
//
// Room 2 (probe/). The layouts themselves stand in format/python_layout.h.
#pragma once

#include <cstdint>

#include "format/python_layout.h"

namespace hostprobe::probe {

// Every offset lies inside its own structure; a table read at the wrong place does not look like that.
inline bool group_is_sane(const std::uint64_t* group, unsigned fields) {
  for (unsigned i = 1; i <= fields; ++i) {
    if (group[i] >= group[0] || group[i] > 1024) return false;
  }
  return group[0] >= 16 && group[0] < 1 << 16;
}

// The fields that are read lie in the part of a frame, of a code object and of a str that is copied.
inline bool fields_are_copied(const std::uint64_t* words, const OffsetTable& at) {
  const std::uint64_t owner = words[at.frame + 5], start = words[at.code + 9], text = words[at.text + 3];
  for (unsigned i = 1; i <= 3; ++i) {
    if (words[at.frame + i] + 8 > owner + 1) return false;
  }
  for (unsigned i = 1; i <= 5; ++i) {
    if (words[at.code + i] + 8 > start) return false;
  }
  return owner < kMostFrameBytes && start <= kMostCodeBytes && words[at.text + 1] + 4 <= text &&
         words[at.text + 2] + 8 <= text;
}

inline bool offsets_are_sane(const std::uint64_t* words, const OffsetTable& at) {
  return group_is_sane(words + at.thread, at.id_in_thread) && group_is_sane(words + at.frame, 5) &&
         group_is_sane(words + at.code, 9) && group_is_sane(words + at.object, 1) &&
         group_is_sane(words + at.bytes, 2) && group_is_sane(words + at.text, 3) && fields_are_copied(words, at) &&
         words[at.object + 1] == kObjectType && words[at.bytes + 1] == kBytesLength &&
         words[at.bytes + 2] == kBytesStart;
}

// Fills `out` from the interpreter's own table. `hex` is PY_VERSION_HEX; the table must say the same.
inline bool layout_of_offsets(const std::uint64_t* words, std::uint32_t hex, PythonLayout& out) {
  const OffsetTable* at = offset_table_of(hex >> 16);
  const bool free_threaded = words[2] != 0;
  if (at == nullptr || words[0] != kOffsetCookie || words[1] != hex || free_threaded || !offsets_are_sane(words, *at))
    return false;
  out = layout_in_words(words, *at);
  return out.text_compact_bytes <= kMostTextHeadBytes;
}

}  // namespace hostprobe::probe
