// json_text.h: JSON values as text.
//
// Room 3. Texts in them are those of words/json_string.h.
#pragma once

#include <string>

#include "json_value.h"
#include "words/json_string.h"

namespace hostprobe::analysis {

inline constexpr int kOneLine = -1;

// Each level with so many blanks more than the one around it; or without any blanks.
std::string json_text(const JsonValue& value, int indent);

}  // namespace hostprobe::analysis
