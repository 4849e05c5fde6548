// step_period.cpp: see step_period.h.
#include "step_period.h"

#include <cstddef>

#include "pure/wait_period.h"

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

bool token_of(const Event& event, Token& token, bool with_shape) {
  if (event.function == nullptr || event.function->step_token == StepToken::kNone || event.type != EventType::kCall ||
      event.captured || event.at_once || event.timed_out)
    return false;
  token = {0, 0, event.function->step_token, event.bytes, event.begin_ns, event.end_ns};
  name_token({event.function->row, event.work, event.grid, event.communicator, event.site}, with_shape, token);
  return true;
}

std::optional<StepCut> find_period(const std::vector<Token>& tokens) {
  return found_by(hostprobe::find_period, tokens);
}

std::optional<StepCut> find_wait_period(const std::vector<Token>& tokens) {
  return found_by(hostprobe::find_wait_period, tokens);
}

}  // namespace hostprobe::analysis
