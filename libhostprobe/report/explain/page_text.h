// page_text.h: a page of the documentation as text for a terminal.
//
// Room 3.
#pragma once

#include <string>
#include <string_view>

namespace hostprobe::analysis {

// Without the marks of headings, of emphasis and of code; a link becomes its words.
std::string page_text(std::string_view markdown);

// What stands between the heading and the end of the first sentence.
std::string first_sentence(std::string_view markdown);

}  // namespace hostprobe::analysis
