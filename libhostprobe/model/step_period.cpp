// step_period.cpp: see step_period.h.
#include "step_period.h"

#include <cstddef>

#include "steps/wait_period.h"

namespace hostprobe::analysis {
namespace {

using Search = bool (*)(const Token*, std::size_t, void*, StepCut&);

std::optional<StepCut> found_by(Search search, const std::vector<Token>& tokens) {
  std::vector<std::max_align_t> memory(period_bytes(tokens.size()) / sizeof(std::max_align_t) + 1);
  StepCut cut;
  if (!search(tokens.data(), tokens.size(), memory.data(), cut)) return std::nullopt;
  return cut;
}

}  // namespace

std::optional<StepCut> find_period(const std::vector<Token>& tokens) {
  return found_by(hostprobe::find_period, tokens);
}

std::optional<StepCut> find_wait_period(const std::vector<Token>& tokens) {
  return found_by(hostprobe::find_wait_period, tokens);
}

}  // namespace hostprobe::analysis
