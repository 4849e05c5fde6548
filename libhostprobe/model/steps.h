// steps.h: which steps a process made: as the program marked them, else as its calls repeat.
//
// Room 3. Finding out where they begin and end needs little of a trace (its first and last marks, or a part of the calls of
// the thread that launches); the steps themselves are listed by questions/steps.h, in the one pass over everything.
#pragma once

#include "answer/step.h"
#include "answer/window.h"
#include "steps/step_token.h"

namespace hostprobe::analysis {

class Timeline;
struct Track;

struct StepPlan {
  StepChoice choice = StepChoice::kAuto;
  StepSource source = StepSource::kNone;
  const Track* track = nullptr;  // the thread that marks them, or whose calls repeat
  bool by_optimizer = false;     // marks that torch's optimizer made, not the program
  StepCut cut;                   // of detected ones
  Window span;                   // from the begin of the first to the end of the last
};

StepPlan plan_steps(const Timeline& timeline, StepChoice choice);

}  // namespace hostprobe::analysis
