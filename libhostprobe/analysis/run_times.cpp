// run_times.cpp: see run_times.h.
#include "run_times.h"

#include <algorithm>
#include <set>

#include "analysis/graph/parallel.h"
#include "analysis/ranks/host_alignment.h"

namespace hostprobe::analysis {
namespace {

constexpr double kReadingUs = 1;  // no two clocks are read closer together than that for sure

// A run whose ranks are not all on one axis has no error to tell. Where there are none, every host counts.
void tell_clock_error(RunAnswer& run) {
  run.clock_error_us.reset();
  double most_ns = 0;
  for (const ProcessAnswer& process : run.processes) {
    if (run.ranks > 0 && process.kind != ProcessKind::kRank) continue;
    const auto clock = run.host_clocks.find(process.host);
    if (clock == run.host_clocks.end()) return;
    most_ns = std::max(most_ns, clock->second.error_ns);
  }
  run.clock_error_us = 1e-3 * most_ns;
}

// What a host's own clock says of the day is wrong by as much as its offset is.
void put_on_one_axis(RunAnswer& run) {
  const auto reference = std::find_if(run.processes.begin(), run.processes.end(), [&run](const ProcessAnswer& process) {
    const auto clock = run.host_clocks.find(process.host);
    return clock != run.host_clocks.end() && clock->second.moments == 0;
  });
  if (reference == run.processes.end()) return;
  const std::uint64_t realtime_offset_ns = reference->start_realtime_ns - reference->start_monotonic_ns;
  for (ProcessAnswer& process : run.processes)
    if (const auto clock = run.host_clocks.find(process.host); clock != run.host_clocks.end())
      process.start_realtime_ns = clock->second.to_reference(process.start_monotonic_ns) + realtime_offset_ns;
  run.start_realtime_ns = 0;
  tell_times(run);
}

// As many as the latest incarnation was told: a launcher may go on with fewer. That a rank has no profile is no loss, so profiles do not
// count.
std::uint32_t world_of(const RunAnswer& run) {
  std::set<std::uint32_t> worlds;
  int latest = 0;
  for (const ProcessAnswer& process : run.processes) {
    if (process.kind != ProcessKind::kRank || process.mode == "profile" || process.world_size == 0) continue;
    if (process.restart.value_or(0) < latest) continue;
    if (process.restart.value_or(0) > latest) worlds.clear();
    latest = process.restart.value_or(0);
    worlds.insert(process.world_size);
  }
  return worlds.size() == 1 ? *worlds.begin() : 0;
}

void tell_job(const std::set<int>& ranks, RunAnswer& run) {
  constexpr std::uint32_t kMostRanks = 1u << 20;  // a head may say anything
  std::set<std::string> ids;
  for (const ProcessAnswer& process : run.processes)
    if (!process.job.empty()) ids.insert(process.job);
  run.job_id = ids.size() == 1 ? *ids.begin() : "";
  run.world = world_of(run);
  run.unwritten_ranks.clear();
  if (run.world > kMostRanks) return;
  for (int rank = 0; rank < static_cast<int>(run.world); ++rank)
    if (!ranks.contains(rank)) run.unwritten_ranks.push_back(rank);
}

}  // namespace

void tell_times(RunAnswer& run) {
  std::uint64_t end_ns = 0;
  std::set<std::string> hosts;
  std::set<int> ranks;
  for (const ProcessAnswer& process : run.processes) {
    if (run.start_realtime_ns == 0 || process.start_realtime_ns < run.start_realtime_ns) {
      run.start_realtime_ns = process.start_realtime_ns;
    }
    end_ns = std::max(
        end_ns, process.start_realtime_ns + static_cast<std::uint64_t>(std::min(process.wall_ms, kMostWallMs) * 1e6));
    if (!process.host.empty()) hosts.insert(process.host);
    if (process.kind == ProcessKind::kRank) ranks.insert(process.rank.value_or(0));
    if (run.mode.empty()) run.mode = process.mode;
    if (process.steps.lengths.count > run.steps.lengths.count) run.steps = process.steps;
    if (process.start_up) run.start_up_ms = std::max(run.start_up_ms.value_or(0), process.start_up->ms);
    if (process.clock_error_us) run.clock_error_us = std::max(run.clock_error_us.value_or(0), *process.clock_error_us);
  }
  run.wall_s = 1e-9 * static_cast<double>(end_ns - run.start_realtime_ns);
  run.hosts.assign(hosts.begin(), hosts.end());
  run.ranks = static_cast<std::uint32_t>(ranks.size());
  tell_job(ranks, run);
  if (hosts.size() > 1) run.clock_error_us.reset();
}

void align(const std::vector<Opened>& opened, RunAnswer& run, unsigned cores) {
  if (run.hosts.size() < 2) return;
  const std::map<std::string, const Opened*> by_path = by_trace(opened);
  double slack_us = kReadingUs;
  std::vector<ProcessEnds> ends;
  std::vector<const Opened*> sources;
  for (const ProcessAnswer& process : run.processes) {
    slack_us = std::max(slack_us, process.clock_error_us.value_or(0));
    const auto found = by_path.find(process.trace_path);
    ends.push_back({process.host, {}});
    sources.push_back(found == by_path.end() ? nullptr : found->second);
  }
  run_parallel(ends.size(), cores, [&](std::size_t i) {
    if (sources[i] == nullptr) return;
    try {
      ends[i].ends = collective_ends(*sources[i]->timeline, sources[i]->kernels);
    } catch (const TraceError&) {
      return;  // somebody changed the file since it was read
    }
  });
  run.host_clocks = align_hosts(ends, 1e3 * slack_us);
  put_on_one_axis(run);
  tell_clock_error(run);
}

}  // namespace hostprobe::analysis
