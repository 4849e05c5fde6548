// action.h: what hostprobe itself did in a process and why.
//
// The waist (answer/). analysis/measures/actions.h fills it.
#pragma once

#include <cstdint>
#include <string>

namespace hostprobe::analysis {

struct ActionAnswer {
  std::uint32_t kind = 0;    // EventKind
  std::uint32_t reason = 0;  // TriggerReason
  double at_s = 0;           // since the process began
  std::uint64_t number = 0;
  std::uint64_t amount = 0;
  std::string text;
};

inline constexpr std::uint32_t kTriggerAction = 1;

// It came too soon after a dump.
inline bool is_refused_trigger(const ActionAnswer& action) {
  return action.kind == kTriggerAction && action.number == 0;
}

// Ids, for scripts; of what a later hostprobe wrote, its number.
std::string action_kind_name(std::uint32_t kind);
std::string trigger_reason_name(std::uint32_t reason);

}  // namespace hostprobe::analysis
