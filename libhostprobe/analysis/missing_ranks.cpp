// missing_ranks.cpp: see missing_ranks.h.
#include "missing_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "text.h"

namespace hostprobe::analysis {
namespace {

constexpr double kLeastMs = 1000;

struct Standing {
  const ProcessAnswer* process = nullptr;
  const CollectiveCall* last = nullptr;
};

using Ranks = std::map<int, Standing>;  // of one communicator

// Of somebody's calls there only sums are left: a rank without a record may have been in it long ago.
bool has_sums(const std::vector<ProcessAnswer>& processes, std::uint64_t communicator) {
  for (const ProcessAnswer& process : processes)
    for (const CollectiveSum& sum : process.collective_sums)
      if (sum.communicator == communicator) return true;
  return false;
}

std::map<std::uint64_t, Ranks> standings(const std::vector<ProcessAnswer>& processes) {
  std::map<std::uint64_t, Ranks> found;
  for (const ProcessAnswer& process : processes) {
    for (const CollectiveCall& call : process.collective_calls) {
      if (call.communicator == 0 || call.sequence == 0 || is_message(*call.operation)) continue;
      Standing& standing = found[call.communicator][call.rank];
      if (standing.last == nullptr || call.sequence > standing.last->sequence) standing = {&process, &call};
    }
  }
  return found;
}

bool has_ended(const ProcessAnswer& process) { return process.end == EndState::kEnded; }

std::string doing(const ProcessAnswer& process) {
  const ThreadAnswer* main = process.main_thread();
  if (main == nullptr) return {};
  if (!main->open_wait) return "runs";
  const OpenWaitAnswer& wait = *main->open_wait;
  return fmt::format("waits in {} of {}{}", printable(wait.function), printable(wait.library),
                     wait.ms < 1 ? "" : " since " + duration_text(1e6 * wait.ms));
}

double lasted_ms(const Standing& standing) {
  const double end_ns = static_cast<double>(standing.process->start_monotonic_ns) + 1e6 * standing.process->wall_ms;
  return 1e-6 * (end_ns - static_cast<double>(standing.last->begin_ns));
}

std::optional<StuckCollective> judge(std::uint64_t communicator, const Ranks& ranks, bool summed) {
  const auto furthest = std::max_element(ranks.begin(), ranks.end(), [](const auto& l, const auto& r) {
    return l.second.last->sequence < r.second.last->sequence;
  });
  const CollectiveCall& ahead = *furthest->second.last;
  StuckCollective stuck;
  stuck.communicator = fmt::format("{:016x}", communicator);
  stuck.ranks = static_cast<std::uint32_t>(std::max(ahead.size, 0));
  stuck.operation = *ahead.operation;
  stuck.sequence = ahead.sequence;
  for (const auto& [rank, standing] : ranks) {
    if (standing.last->sequence < ahead.sequence) {
      stuck.missing.push_back({rank, standing.process->rank, standing.last->sequence, doing(*standing.process)});
    } else if (!has_ended(*standing.process)) {
      ++stuck.arrived;
      stuck.since_ms = std::max(stuck.since_ms, lasted_ms(standing));
    }
  }
  for (int rank = 0; rank < ahead.size && !summed; ++rank)
    if (!ranks.contains(rank)) stuck.missing.push_back({rank, std::nullopt, 0, {}});
  if (stuck.missing.empty() || stuck.arrived == 0 || stuck.since_ms < kLeastMs) return std::nullopt;
  return stuck;
}

}  // namespace

std::vector<StuckCollective> find_missing_ranks(const std::vector<ProcessAnswer>& processes) {
  std::vector<StuckCollective> all;
  if (std::all_of(processes.begin(), processes.end(), has_ended)) return all;
  for (const auto& [communicator, ranks] : standings(processes))
    if (auto stuck = judge(communicator, ranks, has_sums(processes, communicator))) all.push_back(std::move(*stuck));
  std::stable_sort(all.begin(), all.end(),
                   [](const StuckCollective& l, const StuckCollective& r) { return l.since_ms > r.since_ms; });
  return all;
}

std::string stuck_text(const StuckCollective& stuck) {
  std::string names;
  constexpr std::size_t kShown = 4;
  for (std::size_t i = 0; i < std::min(stuck.missing.size(), kShown); ++i) {
    const MissingRank& missing = stuck.missing[i];
    const std::string last = missing.sequence == 0 ? "never seen there" : fmt::format("last in #{}", missing.sequence);
    names += fmt::format("{}rank {} ({}{}{})", i == 0 ? "" : ", ", missing.job_rank.value_or(missing.rank), last,
                         missing.doing.empty() ? "" : ", its main thread ", missing.doing);
  }
  if (stuck.missing.size() > kShown) names += fmt::format(" and {} more", stuck.missing.size() - kShown);
  return fmt::format("{} of {} ranks are in {} #{} of communicator {} since {}; not there: {}.", stuck.arrived,
                     stuck.ranks, stuck.operation, stuck.sequence, stuck.communicator.substr(0, 8),
                     duration_text(1e6 * stuck.since_ms), names);
}

}  // namespace hostprobe::analysis
