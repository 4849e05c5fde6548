// edit_distance.h: how far a name that was typed is from one that there is.
//
// Room pure/. One row of the usual table, in memory of the caller.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hostprobe {

// Letters to change, to add or to leave out. `row` has room for b_length + 1 numbers.
inline unsigned edit_distance(const char* a, std::size_t a_length, const char* b, std::size_t b_length, unsigned* row) {
  for (unsigned j = 0; j <= b_length; ++j) row[j] = j;
  for (std::size_t i = 1; i <= a_length; ++i) {
    unsigned corner = row[0];
    row[0] = static_cast<unsigned>(i);
    for (std::size_t j = 1; j <= b_length; ++j) {
      const unsigned above = row[j];
      const unsigned change = corner + (a[i - 1] != b[j - 1] ? 1u : 0u);
      const unsigned best = above + 1 < row[j - 1] + 1 ? above + 1 : row[j - 1] + 1;
      row[j] = change < best ? change : best;
      corner = above;
    }
  }
  return row[b_length];
}

// More than half of the longer one changed is another word, not a slip.
inline bool is_slip(unsigned letters, std::size_t a_length, std::size_t b_length) {
  return std::uint64_t{letters} * 2 <= (a_length > b_length ? a_length : b_length);
}

}  // namespace hostprobe
