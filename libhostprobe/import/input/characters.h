// characters.h: kinds of bytes in a text that is made of ASCII where it matters.
//
// Room 3.
#pragma once

#include <cstddef>
#include <string_view>

namespace hostprobe::analysis {

// As JSON has them.
inline bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Of the first byte from `at` on that is no blank.
inline std::size_t behind_blanks(std::string_view text, std::size_t at) {
  while (at < text.size() && is_blank(text[at])) ++at;
  return at;
}

}  // namespace hostprobe::analysis
