// process_id.h: whether a word of the command line is a process id.
//
// Room 4. Where a run folder may stand as well: one whose name is a number is ./NUMBER.
#pragma once

#include <algorithm>
#include <string>

namespace hostprobe::cli {

inline bool is_process_id(const std::string& text) {
  return !text.empty() && text.size() < 10 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace hostprobe::cli
