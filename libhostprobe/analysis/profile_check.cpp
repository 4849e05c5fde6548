// profile_check.cpp: see profile_check.h.
#include "profile_check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "answer/run.h"
#include "model/busy_time.h"
#include "opened_traces.h"

namespace hostprobe::analysis {
namespace {

double axis_offset_ns(const Trace& from, const Trace& to) {
  return static_cast<double>(static_cast<std::int64_t>(from.clock.monotonic_ns_of(0) - to.clock.monotonic_ns_of(0)));
}

}  // namespace

std::optional<GpuCheck> check_replay(const DeviceTimeline& replay, const std::vector<ProfiledDevice>& profiles) {
  const std::vector<BusySpan> replayed = without_hand_overs(busy_spans(replay, std::nullopt, Certainty::kKnown)),
                              any = without_hand_overs(busy_spans(replay));
  GpuCheck check;
  double all_ns = 0, busy = 0, told = 0, unknown = 0;
  for (const ProfiledDevice& profile : profiles) {
    const std::vector<BusySpan> spans = without_hand_overs(busy_spans(*profile.device));
    if (spans.empty() || spans.back().end_ns <= spans.front().begin_ns) continue;
    const Window window{spans.front().begin_ns, spans.back().end_ns};
    const Window same{window.begin_ns + profile.offset_ns, window.end_ns + profile.offset_ns};
    const double busy_here = busy_ns(spans, window), told_here = busy_ns(replayed, same);
    const double unknown_here = busy_ns(any, same) - told_here;
    ++check.profiles;
    all_ns += window.length_ns(), busy += busy_here, told += told_here, unknown += unknown_here;
    check.worst_points = std::max(check.worst_points, 100 * std::abs(told_here - busy_here) / window.length_ns());
  }
  if (check.profiles == 0) return std::nullopt;
  check.ms = 1e-6 * all_ns;
  check.busy_pct = 100 * busy / all_ns;
  check.replayed_pct = 100 * told / all_ns;
  check.unknown_pct = 100 * unknown / all_ns;
  return check;
}

void answer_profile_checks(const std::vector<Opened>& opened, RunAnswer& run) {
  const std::map<std::string, const Opened*> by_path = by_trace(opened);
  const auto of = [&by_path](const ProcessAnswer& process) -> const Opened* {
    const auto found = by_path.find(process.trace_path);
    return found == by_path.end() || found->second->device == nullptr ? nullptr : found->second;
  };
  std::map<const ProcessAnswer*, std::vector<ProfiledDevice>> profiles;
  for (const ProcessAnswer& process : run.processes) {
    const ProcessAnswer* traced = run.traced(process);
    const Opened *profile = of(process), *own = traced == nullptr ? nullptr : of(*traced);
    if (profile == nullptr || own == nullptr || own->device->source != ActivitySource::kEvents) continue;
    profiles[traced].push_back({profile->device.get(), axis_offset_ns(*profile->trace, *own->trace)});
  }
  for (ProcessAnswer& process : run.processes)
    if (const auto found = profiles.find(&process); found != profiles.end())
      process.gpu.check = check_replay(*of(process)->device, found->second);
}

}  // namespace hostprobe::analysis
