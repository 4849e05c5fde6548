// gpu_learning.cpp: see gpu_learning.h.
#include "gpu_learning.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "gpu_other_ranks.h"

namespace hostprobe::analysis::replay {
namespace {

constexpr double kLeastSpread = 0.1;  // of what waits of the host's tell
constexpr double kLastShare = 0.1;    // of the times of a collective: those of ranks that came last

// What is moved between whom; the same on all ranks.
using Moved = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;
using MovedTimes = std::map<Moved, std::vector<float>>;

Moved moved_of(const Process& process, std::uint32_t kind) {
  const GpuOpKind& one = process.work->kinds[kind];
  return {one.what, one.grid, one.bytes};
}

// Both ends of a message: the bytes in that communicator.
Moved message_of(const Process& process, std::uint32_t kind) {
  const GpuOpKind& one = process.work->kinds[kind];
  return {one.what, 0, one.bytes};
}

// Kinds by what they are in a message.
struct MessageEnds {
  std::set<std::uint32_t> all, receiving;  // that wait for the other end, and nobody waits for them

  explicit MessageEnds(const GpuWork& work) {
    for (const GpuPart& part : work.parts) {
      if (part.between == 0) continue;
      all.insert(part.kind);
      if (part.waits && !part.arrives) receiving.insert(part.kind);
    }
  }
};

void learn_for_all(State& state, const Moved& what, const OpDuration& duration) {
  for (Process& process : state.processes)
    for (std::uint32_t kind = 0; kind < process.work->kinds.size(); ++kind)
      if (process.work->kinds[kind].collective && moved_of(process, kind) == what)
        process.durations.learn(kind, duration);
}

// The longest of those that count as the least; they stand before it.
std::vector<float>::iterator put_least_first(std::vector<float>& ns) {
  const auto low = ns.begin() + static_cast<std::ptrdiff_t>(kLastShare * static_cast<double>(ns.size()));
  std::nth_element(ns.begin(), low, ns.end());
  return low;
}

// What all ranks saw of it, together: the one that came last did not wait. So it is the least but for chance.
void learn_least(State& state, const Moved& what, std::vector<float>& ns) {
  if (ns.size() < kFewestReturns) return;  // which rank came last only a replay tells
  const auto low = put_least_first(ns);
  std::vector<float> least(ns.begin(), low + 1);
  OpDuration duration = robust_duration(least);
  duration.ns = static_cast<double>(*low);
  learn_for_all(state, what, duration);
}

// One that receives may have waited each time, so the least that it took is no duration. Until a replay says when the sender was there,
// data are taken to last as long as at that end of such messages that was quicker.
void guess_received(State& state, const MovedTimes& messages) {
  for (Process& process : state.processes) {
    for (const std::uint32_t kind : MessageEnds(*process.work).receiving) {
      const auto found = messages.find(message_of(process, kind));
      if (found == messages.end() || found->second.size() < kFewestReturns) continue;
      std::vector<float> ns = found->second;
      const auto least_ns = static_cast<double>(*put_least_first(ns));
      process.durations.learn(kind, {.ns = least_ns, .spread_ns = least_ns, .samples = 0, .guessed = true});
    }
  }
}

// As the last pass put it. Nothing: ranks are in it that nobody saw.
std::optional<double> all_there(const State& state, const Process& process, std::uint32_t number) {
  const GpuOp& op = process.work->ops[number];
  double last_ns = -1e300;
  for (std::uint32_t i = 0; i < op.parts; ++i) {
    const Meeting& meeting = state.meetings[process.meetings[op.first_part + i]];
    if (!process.work->parts[op.first_part + i].waits) continue;
    if (!meeting.is_known() || meeting.to_come > 0) return std::nullopt;
    last_ns = std::max(last_ns, meeting.last_ns);
  }
  return last_ns > -1e299 ? std::optional(std::max(last_ns, process.times[number].begin_ns)) : std::nullopt;
}

void tell_guessed(const Process& process, std::uint32_t before, std::uint32_t number,
                  std::unordered_map<std::uint32_t, std::vector<float>>& lasted) {
  const std::vector<GpuOp>& ops = process.work->ops;
  const GpuOp& op = ops[number];
  const OpDuration& usual = process.durations.of(op.kind);
  const auto tell = [&](std::uint32_t one, double end_ns) {
    lasted[ops[one].kind].push_back(static_cast<float>(std::max(0.0, end_ns - process.times[one].begin_ns)));
  };
  if (op.collective) return;
  // A callback has no event of its own: what came behind it began when it returned. How long it takes nobody knows, and of a copy its bytes
  // tell: so it is the callback that took the rest.
  const bool is_behind_callback = before != kNoOp && ops[before].type == GpuOpType::kCallback && op.is_timed();
  const bool has_bytes = op.type == GpuOpType::kCopy || op.type == GpuOpType::kFill;
  if (is_behind_callback && (!usual.guessed || has_bytes)) return tell(before, op.timed_ns - usual.ns);
  if (process.times[number].begin_error_ns >= kUnknownNs) return;  // what it waited for is not its own
  if (usual.guessed && (op.is_timed() || op.blocks)) tell(number, op.is_timed() ? op.timed_ns : op.end_ns);
}

bool is_guessed(const Process& process, std::uint32_t number) {
  const GpuOp& op = process.work->ops[number];
  return is_work(op.type) && process.durations.of(duration_kind(*process.work, op)).guessed;
}

// Neither its stream nor another rank came there behind something that nobody knows.
bool begin_is_known(const State& state, const Process& process, std::uint32_t number) {
  const GpuOp& op = process.work->ops[number];
  const OpTime& time = process.times[number];
  if (time.begin_error_ns >= kUnknownNs) return false;
  for (std::uint32_t i = 0; i < op.parts; ++i) {
    const Meeting& meeting = state.meetings[process.meetings[op.first_part + i]];
    if (!process.work->parts[op.first_part + i].waits) continue;
    if (!meeting.is_known() || (meeting.last_ns > time.begin_ns && meeting.error_ns >= kUnknownNs)) return false;
  }
  return true;
}

// Those that decided when that one ended, since something that is known. Empty: none, or the first of them came behind more.
std::vector<std::uint32_t> guessed_before(const State& state, const Process& process, std::uint32_t number) {
  std::vector<std::uint32_t> guessed;
  for (std::uint32_t at = number; at != kNoOp && !process.work->ops[at].is_timed(); at = process.times[at].bound_by)
    if (is_guessed(process, at)) guessed.push_back(at);
  if (!guessed.empty() && !begin_is_known(state, process, guessed.back())) guessed.clear();
  return guessed;
}

// The quicker half.
std::optional<OpDuration> quick_of(std::vector<float>& ns) {
  if (ns.size() < kFewestReturns) return std::nullopt;
  const auto half = ns.begin() + static_cast<std::ptrdiff_t>((ns.size() + 1) / 2);
  std::nth_element(ns.begin(), half - 1, ns.end());
  std::vector<float> quick(ns.begin(), half);
  OpDuration duration = robust_duration(quick);
  duration.spread_ns = std::max(duration.spread_ns, kLeastSpread * duration.ns);
  return duration;
}

}  // namespace

void learn_moved(State& state) {
  MovedTimes moved, messages;
  for (const Process& process : state.processes) {
    const MessageEnds ends(*process.work);
    for (std::uint32_t kind = 0; kind < process.work->kinds.size(); ++kind) {
      const std::vector<float>& ns = process.durations.moved(kind);
      if (ns.empty()) continue;
      const auto add = [&ns](std::vector<float>& all) { all.insert(all.end(), ns.begin(), ns.end()); };
      if (ends.all.contains(kind)) add(messages[message_of(process, kind)]);
      if (!ends.receiving.contains(kind)) add(moved[moved_of(process, kind)]);
    }
  }
  for (auto& [what, ns] : moved) learn_least(state, what, ns);
  guess_received(state, messages);
}

void learn_guessed(State& state) {
  MovedTimes moved;
  for (const Process& process : state.processes)
    for (std::uint32_t number = 0; number < process.work->ops.size(); ++number) {
      const GpuOp& op = process.work->ops[number];
      const std::uint32_t kind = duration_kind(*process.work, op);
      if (!op.collective || !op.is_timed() || !process.durations.of(kind).guessed) continue;
      if (const auto since_ns = all_there(state, process, number); since_ns && op.timed_ns > *since_ns)
        moved[moved_of(process, kind)].push_back(static_cast<float>(op.timed_ns - *since_ns));
    }
  for (auto& [what, ns] : moved) learn_for_all(state, what, robust_duration(ns));
  for (Process& process : state.processes) {
    std::unordered_map<std::uint32_t, std::vector<float>> lasted;
    for (const GpuStream& stream : process.work->streams) {
      std::uint32_t before = kNoOp;  // the last that works, or stands still
      for (const std::uint32_t number : stream.ops) {
        const GpuOp& op = process.work->ops[number];
        if (op.type == GpuOpType::kMark || op.type == GpuOpType::kJoin) continue;
        tell_guessed(process, before, number, lasted);
        before = number;
      }
    }
    for (auto& [kind, ns] : lasted) process.durations.learn(kind, robust_duration(ns));
  }
  std::vector<KnownDurations> ranks;
  for (Process& process : state.processes) ranks.push_back({process.work, &process.durations});
  learn_from_other_ranks(ranks);
}

bool learn_waited(State& state) {
  MovedTimes moved;
  bool any = false;
  for (Process& process : state.processes) {
    std::unordered_map<std::uint32_t, std::vector<float>> lasted;
    for (const GpuSync& sync : process.work->syncs) {
      if (sync.end_ns - sync.begin_ns < kBlockedNs) continue;
      const std::vector<std::uint32_t> guessed = guessed_before(state, process, sync.op);
      const double later_ns = sync.end_ns - kUsualReturnNs - process.times[sync.op].end_ns;
      for (const std::uint32_t number : guessed) {
        const GpuOp& op = process.work->ops[number];
        const std::uint32_t kind = duration_kind(*process.work, op);
        const double ns = process.durations.of(kind).ns + later_ns / static_cast<double>(guessed.size());
        if (!can_last(process.work->kinds[kind], ns)) continue;
        auto& told = op.collective ? moved[moved_of(process, kind)] : lasted[kind];
        told.push_back(static_cast<float>(std::max(0.0, ns)));
      }
    }
    for (auto& [kind, ns] : lasted)
      if (const auto quick = quick_of(ns)) process.durations.learn(kind, *quick), any = true;
  }
  for (auto& [what, ns] : moved)
    if (const auto quick = quick_of(ns)) learn_for_all(state, what, *quick), any = true;
  return any;
}

}  // namespace hostprobe::analysis::replay
