// chosen_ranks.cpp: see chosen_ranks.h.
#include "chosen_ranks.h"

#include <algorithm>
#include <numeric>

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kWorst = 16;
constexpr std::size_t kBest = 8;

}  // namespace

ChosenRanks choose_ranks(const std::vector<double>& badness) {
  std::vector<std::size_t> order(badness.size());
  std::iota(order.begin(), order.end(), 0);
  if (order.size() < kManyRanks) return {.shown = order, .others = {}};
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return badness[a] > badness[b]; });
  ChosenRanks chosen;
  chosen.shown.assign(order.begin(), order.begin() + kWorst);
  chosen.shown.push_back(order[order.size() / 2]);
  chosen.shown.insert(chosen.shown.end(), order.end() - kBest, order.end());
  std::vector<bool> is_shown(badness.size());
  for (const std::size_t one : chosen.shown) is_shown[one] = true;
  for (std::size_t one = 0; one < badness.size(); ++one)
    if (!is_shown[one]) chosen.others.push_back(one);
  return chosen;
}

}  // namespace hostprobe::analysis
