// longest_pieces.h: examples of lost time, the longest of each cause and rank. No moment of a thread is an example twice.
//
// Room 3. Parts of one stretch of time may have several causes (an estimated share of it had no CPU): as an example it is of the one
// with the largest part. Ranks that wait for the same loss repeat its part: it is an example where it was lost.
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "lost_parts.h"

namespace hostprobe::analysis {

struct LongestPiece {
  Window window;
  const HostThread* thread = nullptr;  // nullptr: of none, or not known which
};

class LongestPieces {
 public:
  // A cause, and the rank where it sits.
  using Row = std::pair<Cause, std::uint32_t>;

  // One rank's parts of one step, by time.
  void add(std::span<const LostPart> parts);
  // Of each row at most three, longest first.
  std::map<Row, std::vector<LongestPiece>> finish() const;

 private:
  void add_stretch(std::span<const LostPart> parts);
  void add(const Row& row, const LongestPiece& piece);

  std::map<Row, std::vector<LongestPiece>> candidates_;  // longest first
};

}  // namespace hostprobe::analysis
