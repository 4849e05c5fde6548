// gate.h: `hostprobe diff --fail-over PCT`: by which status a comparison ends that is a gate of a CI job.
//
// Room 4.
#pragma once

#include <functional>
#include <string>

#include "analysis/findings/step_gate.h"
#include "cli/command.h"

namespace hostprobe::cli {

// "" where no gate was asked for, else as `gate_option` has checked it.
struct GateLimit {
  std::string text;

  bool is_wanted() const { return !text.empty(); }
  double pct() const;
};

Option gate_option(GateLimit& limit);

// 0, 1 or 3; with `says_why` a line on stderr as well.
int gate_status(const analysis::StepGate& gate, bool says_why);

// What `compare` returns. With a gate, 3 where it throws: 1 would pass for slower steps.
int within_gate(const GateLimit& limit, const std::function<int()>& compare);

}  // namespace hostprobe::cli
