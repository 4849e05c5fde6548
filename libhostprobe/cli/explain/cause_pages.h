// cause_pages.h: the pages of docs/causes/, as the build puts them into the command (embed.py).
//
// Room 4.
#pragma once

#include <cstddef>

namespace hostprobe::cli {

struct CausePage {
  const char* id;
  const char* text;  // Markdown
};

extern const CausePage kCausePages[];
extern const std::size_t kCausePageCount;

}  // namespace hostprobe::cli
