// actions.cpp: see actions.h.
#include "actions.h"

#include <algorithm>

namespace hostprobe::analysis {
static_assert(kTriggerAction == kEventTrigger);

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

}  // namespace hostprobe::analysis
