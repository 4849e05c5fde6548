// python_lines.cpp: see python_lines.h. Steps are described in CPython's Objects/lnotab_notes.txt, locations in its
// InternalDocs on code objects.
#include "python_lines.h"

namespace hostprobe::analysis {
namespace {

using Table = std::span<const unsigned char>;

int line_in_steps(Table table, int line, std::int64_t offset) {
  std::int64_t at = 0;
  for (std::size_t i = 0; i + 1 < table.size(); i += 2) {
    at += table[i];
    if (at > offset) break;
    line += static_cast<signed char>(table[i + 1]);
  }
  return line;
}

int line_in_ranges(Table table, int line, std::int64_t offset) {
  constexpr signed char kNoLine = -128;
  std::int64_t end = 0;
  for (std::size_t i = 0; i + 1 < table.size(); i += 2) {
    end += table[i];
    const auto forward = static_cast<signed char>(table[i + 1]);
    if (forward != kNoLine) line += forward;
    if (offset < end) return forward == kNoLine ? 0 : line;
  }
  return line;
}

// Six bits a byte, 0x40: more follow; the lowest bit is the sign.
int signed_number(Table bytes) {
  unsigned value = 0, shift = 0;
  for (const unsigned char byte : bytes) {
    value |= (byte & 0x3fu) << shift;
    shift += 6;
    if ((byte & 0x40) == 0 || shift >= 30) break;
  }
  return (value & 1) != 0 ? -static_cast<int>(value >> 1) : static_cast<int>(value >> 1);
}

// An entry begins with a byte whose highest bit is set: bits 6..3 say how the line goes on, 2..0 how many code units less
// one. The bytes behind it have that bit clear.
int line_in_locations(Table table, int line, std::int64_t offset) {
  const std::int64_t unit = offset / 2;
  std::int64_t end = 0;
  for (std::size_t i = 0; i < table.size();) {
    const unsigned char head = table[i++];
    if ((head & 0x80) == 0) return line;
    const unsigned form = head >> 3 & 15;
    end += (head & 7) + 1;
    if (form >= 10 && form <= 12) line += static_cast<int>(form) - 10;
    if (form == 13 || form == 14) line += signed_number(table.subspan(i));
    if (unit < end) return form == 15 ? 0 : line;
    while (i < table.size() && (table[i] & 0x80) == 0) ++i;
  }
  return line;
}

}  // namespace

int line_of(LineTable kind, std::span<const unsigned char> table, int first_line, std::int64_t offset) {
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

}  // namespace hostprobe::analysis
