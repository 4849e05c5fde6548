// json_string.h: text of other people's programs as a string of JSON.
//
// Names need not be UTF-8: what is broken becomes U+FFFD, so that every document can be parsed.
#pragma once

#include <string>
#include <string_view>

namespace hostprobe::analysis {

// A JSON string literal, quotes included.
std::string json_text(std::string_view text);

// What stands between the quotes, appended.
void add_escaped(std::string_view text, std::string& out);

// Each broken character as one U+FFFD, as in documents.
std::string valid_utf8(std::string_view text);

}  // namespace hostprobe::analysis
