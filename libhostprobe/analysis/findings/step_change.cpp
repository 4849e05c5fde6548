// step_change.cpp: see step_change.h.
#include "step_change.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "analysis/measures/median.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kFewSteps = 20;     // fewer are too few blocks to draw from
constexpr std::size_t kMostSteps = 4000;  // of which blocks are drawn
constexpr std::size_t kDraws = 1000;
constexpr double kLuck = 0.01;

using Steps = std::vector<double>;

Steps thinned(const Steps& steps) {
  const std::size_t every = steps.size() / kMostSteps + 1;
  Steps some;
  for (std::size_t i = 0; i < steps.size(); i += every) some.push_back(steps[i]);
  return some;
}

// Steps so far apart no longer resemble each other.
std::size_t block_length(const Steps& steps) {
  const auto n = static_cast<double>(steps.size());
  double mean = 0, variance = 0;
  for (const double step : steps) mean += step / n;
  for (const double step : steps) variance += (step - mean) * (step - mean);
  const std::size_t least = static_cast<std::size_t>(std::sqrt(n)), most = steps.size() / 4;
  std::size_t lag = 1;
  for (; lag < most && variance > 0; ++lag) {
    double together = 0;
    for (std::size_t i = 0; i + lag < steps.size(); ++i) together += (steps[i] - mean) * (steps[i + lag] - mean);
    if (together / variance < 2 / std::sqrt(n)) break;
  }
  return std::max<std::size_t>(1, std::min(most, std::max(least, lag)));
}

Steps drawn(const Steps& steps, std::size_t block, std::size_t count, std::mt19937_64& random) {
  Steps sample;
  sample.reserve(count + block);
  while (sample.size() < count) {
    const auto from = static_cast<std::ptrdiff_t>(random() % (steps.size() - block + 1));
    sample.insert(sample.end(), steps.begin() + from, steps.begin() + from + static_cast<std::ptrdiff_t>(block));
  }
  sample.resize(count);
  return sample;
}

double at_share(Steps& values, double share) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// What one half of a run differs from the other by, over draws of which blocks make up each.
double own_noise(const Steps& steps, std::size_t block, std::mt19937_64& random) {
  const double all = median_of(steps);
  Steps differences;
  for (std::size_t i = 0; all > 0 && i < kDraws; ++i) {
    const double l = median_of(drawn(steps, block, steps.size() / 2, random));
    const double r = median_of(drawn(steps, block, steps.size() / 2, random));
    differences.push_back(std::abs(l - r) / all);
  }
  return differences.empty() ? 0 : at_share(differences, 0.99);
}

// The chance that of two alike runs all steps of one are longer than all of the other.
double chance_of_apart(std::size_t a, std::size_t b) {
  const double l = static_cast<double>(a), r = static_cast<double>(b);
  return 2 * std::exp(std::lgamma(l + 1) + std::lgamma(r + 1) - std::lgamma(l + r + 1));
}

void judge_few(StepChange& change) {
  const bool apart = *change.a_max_ms < *change.b_min_ms || *change.b_max_ms < *change.a_min_ms;
  change.significant = apart && chance_of_apart(change.a_count, change.b_count) < kLuck;
}

void judge(const Steps& a, const Steps& b, StepChange& change) {
  std::mt19937_64 random(1);
  const std::size_t block_a = block_length(a), block_b = block_length(b);
  Steps changes;
  for (std::size_t i = 0; i < kDraws; ++i) {
    const double from = median_of(drawn(a, block_a, a.size(), random)),
                 to = median_of(drawn(b, block_b, b.size(), random));
    if (from > 0) changes.push_back(100 * (to - from) / from);
  }
  if (changes.empty()) return;
  change.low_pct = at_share(changes, kLuck / 2);
  change.high_pct = at_share(changes, 1 - kLuck / 2);
  // One behind the other: in which order arguments are worked out differs between architectures, and what is drawn with it.
  const double noise_b = own_noise(b, block_b, random), noise_a = own_noise(a, block_a, random);
  change.noise_pct = 100 * std::max(noise_a, noise_b);
  const bool sure = *change.low_pct > 0 || *change.high_pct < 0;
  change.significant = sure && std::abs(*change.change_pct) > change.noise_pct;
}

}  // namespace

StepChange compare_steps(const std::vector<double>& a, const std::vector<double>& b) {
  StepChange change;
  change.a_count = a.size();
  change.b_count = b.size();
  const auto tell = [](const Steps& steps, auto& middle, auto& least, auto& most) {
    if (steps.empty()) return;
    middle = median_of(steps);
    least = *std::min_element(steps.begin(), steps.end());
    most = *std::max_element(steps.begin(), steps.end());
  };
  tell(a, change.a_median_ms, change.a_min_ms, change.a_max_ms);
  tell(b, change.b_median_ms, change.b_min_ms, change.b_max_ms);
  if (a.empty() || b.empty() || *change.a_median_ms <= 0) return change;
  change.change_pct = 100 * (*change.b_median_ms - *change.a_median_ms) / *change.a_median_ms;
  if (a.size() < kFewSteps || b.size() < kFewSteps)
    judge_few(change);
  else
    judge(thinned(a), thinned(b), change);
  return change;
}

}  // namespace hostprobe::analysis
