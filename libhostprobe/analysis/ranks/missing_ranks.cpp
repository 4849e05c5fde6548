// missing_ranks.cpp: see missing_ranks.h.
#include "missing_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace hostprobe::analysis {
namespace {

constexpr double kLeastMs = 1000;

struct Standing {
  const ProcessAnswer* process = nullptr;
  const CollectiveCall* last = nullptr;
  const std::vector<std::string>* stack = nullptr;  // of `last`
};

using Ranks = std::map<int, Standing>;  // of one communicator

// Of somebody's calls there only counters are left: a rank without a record may have been in it long ago.
bool has_counters(const ProcessWorks& works, std::uint64_t communicator) {
  return std::any_of(works.begin(), works.end(), [communicator](const auto& work) {
    return work.second.collectives.with_counters.contains(communicator);
  });
}

std::map<std::uint64_t, Ranks> standings(const std::vector<ProcessAnswer>& processes, const ProcessWorks& works) {
  std::map<std::uint64_t, Ranks> found;
  for (const ProcessAnswer& process : processes) {
    const auto work = works.find(process.trace_path);
    if (work == works.end()) continue;
    for (const auto& [communicator, spans] : work->second.collectives.ranks) {
      for (const auto& [rank, span] : spans) {
        Standing& standing = found[communicator][rank];
        if (standing.last == nullptr || span.last.sequence > standing.last->sequence)
          standing = {&process, &span.last, &span.last_stack};
      }
    }
  }
  return found;
}

bool has_ended(const ProcessAnswer& process) { return process.end == EndState::kEnded; }

MissingRank missing_rank(int rank, const Standing& standing) {
  MissingRank missing{rank, standing.process->rank, standing.last->sequence};
  missing.stack = *standing.stack;
  const ThreadAnswer* main = standing.process->main_thread();
  missing.has_main = main != nullptr;
  if (main != nullptr) missing.open_wait = main->open_wait;
  return missing;
}

double lasted_ms(const Standing& standing) {
  const double end_ns = static_cast<double>(standing.process->start_monotonic_ns) + 1e6 * standing.process->wall_ms;
  return 1e-6 * (end_ns - static_cast<double>(standing.last->begin_ns));
}

std::optional<StuckCollective> judge(std::uint64_t communicator, const Ranks& ranks, bool counted) {
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
    if (standing.last->sequence < ahead.sequence && is_read_in_part(*standing.process)) {
      return std::nullopt;  // it may be in it, in the rest of its file
    } else if (standing.last->sequence < ahead.sequence) {
      stuck.missing.push_back(missing_rank(rank, standing));
    } else if (!has_ended(*standing.process)) {
      ++stuck.arrived;
      if (stuck.stack.empty()) stuck.stack = *standing.stack;
      stuck.since_ms = std::max(stuck.since_ms, lasted_ms(standing));
    }
  }
  for (int rank = 0; rank < ahead.size && !counted; ++rank)
    if (!ranks.contains(rank)) stuck.missing.push_back({.rank = rank});
  if (stuck.missing.empty() || stuck.arrived == 0 || stuck.since_ms < kLeastMs) return std::nullopt;
  return stuck;
}

}  // namespace

std::vector<StuckCollective> find_missing_ranks(const std::vector<ProcessAnswer>& processes,
                                                const ProcessWorks& works) {
  std::vector<StuckCollective> all;
  if (std::all_of(processes.begin(), processes.end(), has_ended)) return all;
  for (const auto& [communicator, ranks] : standings(processes, works))
    if (auto stuck = judge(communicator, ranks, has_counters(works, communicator))) all.push_back(std::move(*stuck));
  std::stable_sort(all.begin(), all.end(),
                   [](const StuckCollective& l, const StuckCollective& r) { return l.since_ms > r.since_ms; });
  return all;
}

}  // namespace hostprobe::analysis
