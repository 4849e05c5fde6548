// actions.h: what hostprobe itself did in a process and why, as a person and a script may want to know it.
//
// Room 3. From the rows in the trace (format/file.h); printed by report/text.cpp and report/json.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/trace.h"

namespace hostprobe::analysis {

struct ActionAnswer {
  std::uint32_t kind = 0;    // EventKind
  std::uint32_t reason = 0;  // TriggerReason
  double at_s = 0;           // since the process began
  std::uint64_t number = 0;
  std::uint64_t amount = 0;
  std::string text;

  bool is_refused_trigger() const { return kind == kEventTrigger && number == 0; }
};

// By time. What a newer hostprobe may write is kept, with its numbers.
std::vector<ActionAnswer> actions_of(const Trace& trace, std::uint64_t start_monotonic_ns);

std::string action_kind_name(std::uint32_t kind);
std::string trigger_reason_name(std::uint32_t reason);

}  // namespace hostprobe::analysis
