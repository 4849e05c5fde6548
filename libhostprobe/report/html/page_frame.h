// page_frame.h: what every page has around its sections: its head, the way between sections, the document, the script.
//
// Room 3. Nothing in a page is fetched from anywhere, and its policy says so to the browser.
#pragma once

#include <initializer_list>
#include <string>

#include "markup.h"
#include "report/json_value.h"

namespace hostprobe::analysis {

// The first bytes of every page, by which it is known again.
inline constexpr char kPageBegin[] = "<!DOCTYPE html>\n<!-- hostprobe page -->\n";

struct SectionLink {
  const char* id;
  const char* title;
};

void begin_page(const std::string& title, std::initializer_list<SectionLink> sections, Markup& page);
void end_page(const JsonValue& document, Markup& page);

}  // namespace hostprobe::analysis
