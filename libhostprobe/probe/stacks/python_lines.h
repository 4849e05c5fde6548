// python_lines.h: which source line an instruction belongs to.
//
// Room 2 (probe/). The interpreter's three line tables, decoded from a byte source that
// may end early or lie: the answer is then the line reached so far, and every loop eats at least one byte.
//
// Bytes: `bool next(unsigned char&)`, false at the end.
#pragma once

#include <cstdint>

#include "format/python_layout.h"

namespace hostprobe::probe {

template <class Bytes>
int line_in_steps(Bytes& table, int line, std::int64_t offset) {
  std::int64_t at = 0;
  unsigned char bytes, lines;
  while (table.next(bytes) && table.next(lines)) {
    at += bytes;
    if (at > offset) break;
    line += static_cast<signed char>(lines);
  }
  return line;
}

template <class Bytes>
int line_in_ranges(Bytes& table, int line, std::int64_t offset) {
  constexpr signed char kNoLine = -128;
  std::int64_t end = 0;
  unsigned char bytes, lines;
  while (table.next(bytes) && table.next(lines)) {
    end += bytes;
    const auto forward = static_cast<signed char>(lines);
    if (forward != kNoLine) line += forward;
    if (offset < end) return forward == kNoLine ? 0 : line;
  }
  return line;
}

// Six bits a byte, 0x40: more follow; the lowest bit is the sign.
template <class Bytes>
int signed_number(Bytes& table) {
  unsigned value = 0;
  unsigned char byte = 0x40;
  for (unsigned shift = 0; (byte & 0x40) != 0 && shift < 30; shift += 6) {
    if (!table.next(byte)) break;
    value |= (byte & 0x3fu) << shift;
  }
  return (value & 1) != 0 ? -static_cast<int>(value >> 1) : static_cast<int>(value >> 1);
}

//  bit 7   6..3   2..0
//    1     form   code units - 1      form 0-9: same line · 10-12: 0-2 lines on · 13, 14: a signed number follows · 15: none
// The bytes after the first have bit 7 clear: whatever of an entry is not needed is skipped that way.
// Example, first line 7: d8 04 09 | 81 2c | f8. Unit 0 is on line 8 (form 11, columns 4-9), units 1-2 are on line 8 too
// (form 1), unit 3 has no line.
template <class Bytes>
int line_in_locations(Bytes& table, int line, std::int64_t offset) {
  const std::int64_t unit = offset / 2;
  std::int64_t end = 0;
  unsigned char head;
  bool more = table.next(head);
  while (more) {
    if ((head & 0x80) == 0) return line;  // not the start of an entry: the table is damaged
    const unsigned form = head >> 3 & 15;
    end += (head & 7) + 1;
    if (form >= 10 && form <= 12) line += static_cast<int>(form) - 10;
    if (form == 13 || form == 14) line += signed_number(table);
    if (unit < end) return form == 15 ? 0 : line;
    do {
      more = table.next(head);
    } while (more && (head & 0x80) == 0);
  }
  return line;
}

// `offset`: of the instruction, in bytes. 0: this instruction has no line.
template <class Bytes>
int line_of(LineTable kind, Bytes& table, int first_line, std::int64_t offset) {
  if (offset < 0) return first_line;  // not started
  switch (kind) {
    case LineTable::kSteps:
      return line_in_steps(table, first_line, offset);
    case LineTable::kRanges:
      return line_in_ranges(table, first_line, offset);
    case LineTable::kLocations:
      return line_in_locations(table, first_line, offset);
  }
  return first_line;
}

}  // namespace hostprobe::probe
