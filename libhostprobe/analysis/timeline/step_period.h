// step_period.h: what repeats once in a step, found in the calls of one thread.
//
// Room 3. Pure: tokens in, an anchor out. Levels repeat inside each other (layer, micro-batch, step, evaluation): a step is
// the level that holds the rare calls once and all others in equal number. What has no such level has no period.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "event.h"

namespace hostprobe::analysis {

struct Token {
  std::uint64_t work =
      0;  // what was called with what, all but the shape: (communicator, operation, bytes), kernel, site
  std::uint64_t shape = 0;  // the same with the grid
  StepToken type = StepToken::kNone;
  std::uint64_t bytes = 0;  // of a collective
  double begin_ns = 0;
  double end_ns = 0;
};

// False: the event is none. `with_shape`: else its shape is left out, which is half of the work.
bool token_of(const Event& event, Token& token, bool with_shape = true);

// Where one step ends and the next begins: at the first `cut` behind each `arm`; both may be the same.
struct StepCut {
  std::uint64_t arm = 0;
  std::uint64_t cut = 0;
  bool at_end = false;      // of the call; else at its begin
  bool with_shape = false;  // both are shapes
  // It ends where the program waits for the GPU, so more of the same cannot show that it is only a part of a step.
  bool is_certain = false;

  std::uint64_t kind_of(const Token& token) const { return with_shape ? token.shape : token.work; }
};

// Of calls in order. The time is linear in them.
std::optional<StepCut> find_period(const std::vector<Token>& tokens);
// Where there are only waits for other threads: the heaviest one that comes at even intervals.
std::optional<StepCut> find_wait_period(const std::vector<Token>& tokens);

}  // namespace hostprobe::analysis
