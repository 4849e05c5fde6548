// number_ranges.h: which numbers there are, in few words: "0 to 148", "0, 1", "3 to 7, 9".
//
// Room 3. For messages about a step or a rank that does not exist.
#pragma once

#include <cstdint>
#include <iterator>
#include <set>
#include <string>

namespace hostprobe::analysis {

inline std::string ranges_text(const std::set<std::uint64_t>& numbers) {
  constexpr int kMost = 8;  // ranges
  std::string text;
  int ranges = 0;
  for (auto first = numbers.begin(); first != numbers.end(); ++ranges) {
    if (ranges == kMost) return text + " and more";
    auto last = first, next = std::next(first);
    for (; next != numbers.end() && *next == *last + 1; ++next) last = next;
    const bool is_pair = last != first && *last == *first + 1;
    text += (text.empty() ? "" : ", ") + std::to_string(*first);
    if (last != first) text += (is_pair ? ", " : " to ") + std::to_string(*last);
    first = next;
  }
  return text;
}

}  // namespace hostprobe::analysis
