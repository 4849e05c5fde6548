// action.cpp: see action.h.
#include "action.h"

#include <cstddef>

namespace hostprobe::analysis {
namespace {

template <std::size_t N>
std::string name_of(const char* const (&names)[N], std::uint32_t number) {
  return number < N ? names[number] : "unknown_" + std::to_string(number);
}

}  // namespace

std::string action_kind_name(ActionKind kind) {
  static constexpr const char* kNames[] = {
      "unknown_0", "trigger",   "dump_gone", "started",      "stopped",  "setting",     "detail",  "child_ended", "fix",
      "halted",    "throttled", "source",    "read_in_part", "left_out", "steps_known", "profile", "guessed"};
  return name_of(kNames, static_cast<std::uint32_t>(kind));
}

std::string trigger_reason_name(std::uint32_t reason) {
  static constexpr const char* kNames[] = {"unknown_0", "slow_step", "signal", "command", "program", "hang"};
  return name_of(kNames, reason);
}

}  // namespace hostprobe::analysis
