// actions.cpp: see actions.h.
#include "actions.h"

#include <algorithm>

namespace hostprobe::analysis {
namespace {

template <std::size_t N>
std::string name_of(const char* const (&names)[N], std::uint32_t number) {
  return number < N ? names[number] : "unknown_" + std::to_string(number);
}

}  // namespace

std::vector<ActionAnswer> actions_of(const Trace& trace, std::uint64_t start_monotonic_ns) {
  std::vector<ActionAnswer> actions;
  for (const EventRow& row : trace.events) {
    if (row.kind == kEventChildEnded) continue;  // nothing that hostprobe did
    const auto since_ns = static_cast<std::int64_t>(trace.clock.monotonic_ns(row.ticks) - start_monotonic_ns);
    actions.push_back({row.kind, row.reason, 1e-9 * static_cast<double>(since_ns), row.number, row.amount,
                       std::string(row.text, strnlen(row.text, sizeof(row.text)))});
  }
  std::stable_sort(actions.begin(), actions.end(),
                   [](const ActionAnswer& l, const ActionAnswer& r) { return l.at_s < r.at_s; });
  return actions;
}

std::string action_kind_name(std::uint32_t kind) {
  static constexpr const char* kNames[] = {"unknown_0", "trigger", "dump_gone",    "started", "stopped",
                                           "setting",   "detail",  "child_ended",  "fix",     "halted",
                                           "throttled", "source",  "read_in_part", "left_out", "steps_known"};
  return name_of(kNames, kind);
}

std::string trigger_reason_name(std::uint32_t reason) {
  static constexpr const char* kNames[] = {"unknown_0", "slow_step", "signal", "command", "program", "hang"};
  return name_of(kNames, reason);
}

}  // namespace hostprobe::analysis
