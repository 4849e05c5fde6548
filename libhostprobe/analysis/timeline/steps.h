// steps.h: which steps a process made: as the program marked them, else as its calls repeat.
//
// Room 3. Finding out where they begin and end needs little of a trace (its first and last marks, or a part of the calls of
// the thread that launches); the steps themselves are listed by questions/steps.h, in the one pass over everything.
#pragma once

#include <cstdint>

#include "step_period.h"
#include "timeline.h"
#include "window.h"

namespace hostprobe::analysis {

enum class StepSource : std::uint8_t { kNone, kMarks, kDetected };

// Which of them are asked for.
enum class StepChoice : std::uint8_t { kAuto, kMarks, kDetected, kOff };

struct Step {
  std::uint64_t number = 0;
  double begin_ns = 0;
  double end_ns = 0;
  std::uint32_t type = 0;

  double length_ns() const { return end_ns - begin_ns; }
};

struct StepPlan {
  StepChoice choice = StepChoice::kAuto;
  StepSource source = StepSource::kNone;
  const Track* track = nullptr;  // the thread that marks them, or whose calls repeat
  bool by_optimizer = false;     // marks that torch's optimizer made, not the program
  StepCut cut;                   // of detected ones
  Window span;                   // from the begin of the first to the end of the last
};

StepPlan plan_steps(const Timeline& timeline, StepChoice choice);

// Tokens of a thread in order, and where they are cut.
class StepCutter {
 public:
  explicit StepCutter(const StepCut& cut) : cut_(cut) {}
  // True: a step ends, and the next begins, at `at_ns`.
  bool ends(const Token& token, double& at_ns) {
    const std::uint64_t kind = cut_.kind_of(token);
    armed_ = armed_ || kind == cut_.arm;
    if (!armed_ || kind != cut_.cut) return false;
    armed_ = false;
    at_ns = cut_.at_end ? token.end_ns : token.begin_ns;
    return true;
  }

 private:
  StepCut cut_;
  bool armed_ = true;
};

}  // namespace hostprobe::analysis
