// python_text.h: what a Python frame is called: "get (queue.py:180)", from the code points of its name and of its file.
//
// Room 2 (probe/). In fixed memory; what does not fit is left out in front.
#pragma once

#include <string.h>

#include <cstdint>

#include "probe/runtime/safe_memory.h"
#include "probe/stacks/python_frame.h"

namespace hostprobe::probe {

inline constexpr unsigned kMostPoints = kPythonFrameBytes - 4;  // more would never fit
inline constexpr unsigned kDigits = 11;

// The last code points of a str.
struct Points {
  unsigned width, count;
  bool is_cut;
  alignas(4) char raw[kMostPoints * 4];
  std::uint32_t at(unsigned i) const {
    if (width == 1) return field<std::uint8_t>(raw, i);
    return width == 2 ? field<std::uint16_t>(raw, i * 2) : field<std::uint32_t>(raw, i * 4);
  }
};

// What JSON and a terminal would choke on becomes '?': control characters, surrogates (a file name's undecodable bytes).
inline std::uint32_t printable(std::uint32_t point) {
  const bool is_odd = point < 0x20 || (point >= 0x7f && point < 0xa0) || (point >= 0xd800 && point < 0xe000);
  return is_odd || point > 0x10ffff ? '?' : point;
}

inline unsigned utf8_bytes(std::uint32_t point) {
  return point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
}

inline char* put_utf8(char* to, std::uint32_t point) {
  const unsigned bytes = utf8_bytes(point);
  if (bytes == 1) {
    *to = static_cast<char>(point);
    return to + 1;
  }
  for (unsigned i = bytes - 1; i > 0; --i, point >>= 6) to[i] = static_cast<char>(0x80 | (point & 0x3f));
  to[0] = static_cast<char>((0xf00 >> bytes & 0xff) | point);
  return to + bytes;
}

// Code points `first`... as UTF-8 into at most `room` bytes; what does not fit is left out in front, behind "...".
inline char* put_points(char* to, unsigned room, const Points& points, unsigned first, bool is_cut) {
  constexpr unsigned kDots = 3;
  unsigned bytes = 0;
  for (unsigned i = first; i < points.count; ++i) bytes += utf8_bytes(printable(points.at(i)));
  if (bytes > room || is_cut) {
    if (room < kDots) return to;
    for (; first < points.count && bytes > room - kDots; ++first) bytes -= utf8_bytes(printable(points.at(first)));
    memcpy(to, "...", kDots);
    to += kDots;
  }
  for (; first < points.count; ++first) to = put_utf8(to, printable(points.at(first)));
  return to;
}

inline char* put_number(char* to, unsigned number) {
  char digits[kDigits];
  unsigned count = 0;
  do {
    digits[count++] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  while (count > 0) *to++ = digits[--count];
  return to;
}

// "get (queue.py:180)". The place is written first, into its own buffer: the name gets the room that is left.
inline void put_text(const Points& name, const Points& file, unsigned line, char* to) {
  constexpr unsigned kMostFileBytes = 72;
  char place[kMostFileBytes + 1 + kDigits];
  unsigned first = 0;
  for (unsigned i = 0; i < file.count; ++i) {
    if (file.at(i) == '/') first = i + 1;
  }
  char* end = put_points(place, kMostFileBytes, file, first, file.is_cut && first == 0);
  if (line != 0) {
    *end++ = ':';
    end = put_number(end, line);
  }
  const auto place_bytes = static_cast<unsigned>(end - place);
  const unsigned room = kPythonFrameBytes - place_bytes - 4;  // " (", ")", 0
  to = put_points(to, room, name, 0, name.is_cut);
  *to++ = ' ';
  *to++ = '(';
  memcpy(to, place, place_bytes);
  to += place_bytes;
  *to++ = ')';
  *to = 0;
}

}  // namespace hostprobe::probe
