// sentence.h: a part of a sentence as a whole one.
//
// Room 3.
#pragma once

#include <cctype>
#include <string>

namespace hostprobe::analysis {

// With a capital letter and a full stop; "" stays "".
inline std::string sentence(std::string text) {
  if (text.empty()) return text;
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text.back() == '.' ? text : text + ".";
}

}  // namespace hostprobe::analysis
