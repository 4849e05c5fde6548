// chosen_ranks.h: which ranks a page shows one by one. Of many: the worst, the one in the middle and the best; the others stand in a
// table that is closed at first.
//
// Room 3.
#pragma once

#include <cstddef>
#include <vector>

namespace hostprobe::analysis {

inline constexpr std::size_t kManyRanks = 64;  // from here on not all are shown

struct ChosenRanks {
  std::vector<std::size_t> shown;   // places among what was given, worst first; of few ranks: in the order given
  std::vector<std::size_t> others;  // in the order given
  bool all_shown() const { return others.empty(); }
};

// By a number each, of which more is worse.
ChosenRanks choose_ranks(const std::vector<double>& badness);

}  // namespace hostprobe::analysis
