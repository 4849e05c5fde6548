// step_period.h: what repeats once in a step, found in the calls of one thread.
//
// Room 3. What repeats is found by steps/step_period.h, as in the probe; here are its tokens, and its memory.
#pragma once

#include <optional>
#include <vector>

#include "launch_run.h"
#include "steps/step_token.h"

namespace hostprobe::analysis {

// False: the event is none. `with_shape`: else its shape is left out, which is half of the work.
inline bool token_of(const Event& event, Token& token, bool with_shape = true) {
  if (event.function == nullptr || event.function->step_token == StepToken::kNone || event.type != EventType::kCall ||
      event.captured || event.at_once || event.timed_out)
    return false;
  token = {0, 0, event.function->step_token, event.bytes, event.begin_ns, event.end_ns};
  name_token({event.function->row, event.work, event.grid, event.communicator, event.site}, with_shape, token);
  return true;
}

inline bool token_of(const PlainLaunch& launch, Token& token, bool with_shape) {
  if (launch.function->step_token == StepToken::kNone) return false;
  token = {0, 0, launch.function->step_token, 0, launch.begin_ns, launch.end_ns};
  name_token({launch.function->row, launch.work, launch.grid, 0, 0}, with_shape, token);
  return true;
}

// Of calls in order. The time is linear in them.
std::optional<StepCut> find_period(const std::vector<Token>& tokens);
// Where there are only waits for other threads: the heaviest one that comes at even intervals.
std::optional<StepCut> find_wait_period(const std::vector<Token>& tokens);

}  // namespace hostprobe::analysis
