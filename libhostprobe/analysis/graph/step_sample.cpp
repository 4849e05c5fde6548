// step_sample.cpp: see step_sample.h.
#include "step_sample.h"

#include <algorithm>
#include <numeric>

namespace hostprobe::analysis {

std::vector<std::size_t> spread_over(std::size_t all, std::size_t most) {
  std::vector<std::size_t> some(std::min(all, most));
  for (std::size_t i = 0; i < some.size(); ++i) some[i] = (2 * i + 1) * all / (2 * some.size());
  return some;
}

std::size_t steps_that_fit(const std::vector<Window>& steps, std::size_t events, std::size_t most_events) {
  if (steps.empty()) return 0;
  double steps_ns = 0;
  for (const Window& step : steps) steps_ns += step.length_ns();
  const double span_ns = steps.back().end_ns - steps.front().begin_ns;
  const double inside = static_cast<double>(events) * std::min(1.0, steps_ns / span_ns);
  const double part = static_cast<double>(most_events) / std::max(1.0, inside);
  return part >= 1 ? steps.size() : static_cast<std::size_t>(part * static_cast<double>(steps.size()));
}

std::vector<StepBlock> step_blocks(const std::vector<Window>& steps) {
  constexpr std::size_t kBlock = 12, kWarmPart = 4;
  const auto follows = [&steps](std::size_t i) {
    return steps[i].begin_ns - steps[i - 1].end_ns < std::min(steps[i].length_ns(), steps[i - 1].length_ns());
  };
  std::vector<StepBlock> all;
  for (std::size_t first = 0, end = 1; first < steps.size(); first = end++) {
    while (end < steps.size() && follows(end)) ++end;
    const std::size_t parts = (end - first + kBlock - 1) / kBlock;
    for (std::size_t i = 0; i < parts; ++i) {
      const std::size_t from = first + i * (end - first) / parts, to = first + (i + 1) * (end - first) / parts;
      all.push_back({from, to - from, (to - from) / kWarmPart});
    }
  }
  return all;
}

}  // namespace hostprobe::analysis
