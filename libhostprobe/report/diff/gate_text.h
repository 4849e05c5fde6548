// gate_text.h: what the gate of a comparison says, in a sentence.
//
// Room 3.
#pragma once

#include <string>

#include "answer/gate.h"

namespace hostprobe::analysis {

std::string gate_text(const StepGate& gate);

}  // namespace hostprobe::analysis
