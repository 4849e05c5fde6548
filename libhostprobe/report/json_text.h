// json_text.h: JSON values as text.
//
// Room 3. Names come from other people's programs and need not be UTF-8: what is broken becomes U+FFFD, so that every document
// can be parsed.
#pragma once

#include <string>
#include <string_view>

#include "json_value.h"

namespace hostprobe::analysis {

inline constexpr int kOneLine = -1;

// Each level with so many blanks more than the one around it; or without any blanks.
std::string json_text(const JsonValue& value, int indent);

// A JSON string literal, quotes included.
std::string json_text(std::string_view text);

// Each broken character as one U+FFFD, as in documents.
std::string valid_utf8(std::string_view text);

}  // namespace hostprobe::analysis
