// gpu_other_ranks.cpp: see gpu_other_ranks.h.
#include "gpu_other_ranks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "middle.h"

namespace hostprobe::analysis {
namespace {

constexpr double kLeastSpread = 0.1;  // of what another GPU tells

using Key = std::tuple<GpuOpType, std::string_view, std::uint64_t, std::uint64_t, std::uint64_t>;
using TimedKinds = std::map<Key, OpDuration>;

bool is_shared(const GpuOpKind& kind) {
  return !kind.collective && is_work(kind.type) && kind.type != GpuOpType::kGraph;
}

Key key_of(const GpuWork& work, const GpuOpKind& kind) {
  return {kind.type, work.names[kind.name], kind.grid, kind.block, kind.bytes};
}

TimedKinds timed_kinds(const KnownDurations& rank) {
  TimedKinds timed;
  for (std::uint32_t i = 0; i < rank.work->kinds.size(); ++i)
    if (is_shared(rank.work->kinds[i]) && !rank.durations->of(i).guessed)
      timed.emplace(key_of(*rank.work, rank.work->kinds[i]), rank.durations->of(i));
  return timed;
}

// How much longer the one's kinds last than the other's.
double ratio_of(const TimedKinds& one, const TimedKinds& other) {
  std::vector<double> ratios;
  for (const auto& [key, duration] : one)
    if (const auto same = other.find(key); same != other.end() && same->second.ns > 0 && duration.ns > 0)
      ratios.push_back(duration.ns / same->second.ns);
  return ratios.empty() ? 1 : middle_of(ratios);
}

std::optional<OpDuration> told_by_others(const Key& key, std::size_t rank, const std::vector<TimedKinds>& timed,
                                         const std::vector<double>& ratios) {
  std::vector<double> ns;
  double spread_ns = 0;
  for (std::size_t other = 0; other < timed.size(); ++other) {
    const auto same = timed[other].find(key);
    if (other == rank || same == timed[other].end()) continue;
    ns.push_back(ratios[other] * same->second.ns);
    spread_ns = std::max(spread_ns, ratios[other] * same->second.spread_ns);
  }
  if (ns.empty()) return std::nullopt;
  const double middle_ns = middle_of(ns);
  return OpDuration{middle_ns, std::max(spread_ns, kLeastSpread * middle_ns), static_cast<std::uint32_t>(ns.size()),
                    false};
}

}  // namespace

void learn_from_other_ranks(const std::vector<KnownDurations>& ranks) {
  if (ranks.size() < 2) return;
  std::vector<TimedKinds> timed;
  for (const KnownDurations& rank : ranks) timed.push_back(timed_kinds(rank));
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const auto& [work, durations] = ranks[rank];
    std::vector<double> ratios;
    for (const TimedKinds& other : timed) ratios.push_back(ratio_of(timed[rank], other));
    for (std::uint32_t i = 0; i < work->kinds.size(); ++i) {
      if (!is_shared(work->kinds[i]) || !durations->of(i).guessed) continue;
      if (const auto told = told_by_others(key_of(*work, work->kinds[i]), rank, timed, ratios))
        durations->learn(i, *told);
    }
  }
}

}  // namespace hostprobe::analysis
