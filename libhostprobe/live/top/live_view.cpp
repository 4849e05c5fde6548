// live_view.cpp: see live_view.h.
#include "live_view.h"

#include <algorithm>

namespace hostprobe::analysis {

const LiveRank* LiveView::stepping() const {
  const auto found = std::find_if(ranks.begin(), ranks.end(), [](const LiveRank& rank) {
    return rank.state == EndState::kRunning && rank.steps.has_value();
  });
  return found == ranks.end() ? nullptr : &*found;
}

bool LiveView::has_ended() const {
  return std::none_of(ranks.begin(), ranks.end(),
                      [](const LiveRank& rank) { return rank.state == EndState::kRunning; });
}

std::uint64_t LiveView::lost() const {
  std::uint64_t sum = 0;
  for (const LiveRank& rank : ranks) sum += rank.lost;
  return sum;
}

std::optional<double> LiveView::own_cost_pct() const {
  std::optional<double> most;
  for (const LiveRank& rank : ranks)
    if (rank.own_cost_pct && rank.own_cost_pct > most) most = rank.own_cost_pct;
  return most;
}

}  // namespace hostprobe::analysis
