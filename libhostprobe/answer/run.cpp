// run.cpp: see run.h.
#include "run.h"

#include <algorithm>
#include <ctime>

namespace hostprobe::analysis {

const ProcessAnswer* RunAnswer::step_member(std::uint32_t member) const {
  for (const ProcessAnswer& process : processes)
    if (process.trace_path == step_members[member]) return &process;
  return nullptr;
}

bool overlap(const ProcessAnswer& one, const ProcessAnswer& other) {
  const auto began_by_end_of = [](const ProcessAnswer& l, const ProcessAnswer& r) {
    return static_cast<double>(l.start_monotonic_ns) <= static_cast<double>(r.start_monotonic_ns) + 1e6 * r.wall_ms;
  };
  return began_by_end_of(one, other) && began_by_end_of(other, one);
}

const ProcessAnswer* RunAnswer::traced(const ProcessAnswer& profile) const {
  if (profile.mode != "profile") return nullptr;
  for (const ProcessAnswer& process : processes) {
    const bool is_same = process.pid == profile.pid && process.host == profile.host && process.rank == profile.rank;
    if (process.mode != profile.mode && is_same && overlap(profile, process)) return &process;
  }
  return nullptr;
}

std::string utc_text(std::uint64_t realtime_ns) {
  if (realtime_ns == 0) return {};
  const auto seconds = static_cast<time_t>(realtime_ns / 1'000'000'000);
  tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string RunAnswer::started() const { return utc_text(start_realtime_ns); }

bool RunAnswer::uses_gpu() const {
  return std::any_of(processes.begin(), processes.end(), [](const ProcessAnswer& process) {
    return process.launches.call.count() > 0 || process.syncs.time.count() > 0 ||
           process.gpu.source != ActivitySource::kNone;
  });
}

}  // namespace hostprobe::analysis
