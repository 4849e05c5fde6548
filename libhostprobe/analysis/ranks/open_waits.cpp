// open_waits.cpp: see open_waits.h.
#include "open_waits.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace hostprobe::analysis {
namespace {

// Shorter ones are every program's; so are those that are a small part of its life.
constexpr double kLongMs = 2000;
constexpr double kLongPct = 10;

bool others_run(const RunAnswer& run, const ProcessAnswer& process) {
  return std::any_of(run.processes.begin(), run.processes.end(), [&process](const ProcessAnswer& other) {
    return &other != &process && other.end == EndState::kRunning;
  });
}

// Nothing: it is in none that is worth a word.
const OpenWaitAnswer* long_wait_of(const RunAnswer& run, const ProcessAnswer& process) {
  const bool leads = run.ranks > 0 ? process.kind == ProcessKind::kRank : process.kind == ProcessKind::kOther;
  const ThreadAnswer* main = process.main_thread();
  if (!leads || process.end == EndState::kEnded || main == nullptr || !main->open_wait) return nullptr;
  const OpenWaitAnswer& open = *main->open_wait;
  if (open.ms < kLongMs || process.wall_share(open.ms) < kLongPct) return nullptr;
  // A launcher that waits for its program does what it is there for.
  return open.kind == CallKind::kChild && others_run(run, process) ? nullptr : &open;
}

}  // namespace

std::vector<LongWait> long_waits(const RunAnswer& run) {
  std::map<std::tuple<bool, std::string, std::string, std::string>, LongWait> all;
  for (const ProcessAnswer& process : run.processes) {
    const OpenWaitAnswer* open = long_wait_of(run, process);
    if (open == nullptr) continue;
    const bool ended = process.end != EndState::kRunning;
    LongWait& wait = all[{ended, open->function, open->library, open->python}];
    const bool fresh = wait.ranks.empty() && wait.pids.empty();
    wait.function = open->function;
    wait.library = open->library;
    wait.python = open->python;
    wait.sleeps = open->kind == CallKind::kSleep;
    wait.ended = ended;
    wait.least_s = fresh ? 1e-3 * open->ms : std::min(wait.least_s, 1e-3 * open->ms);
    wait.most_s = std::max(wait.most_s, 1e-3 * open->ms);
    if (process.kind == ProcessKind::kRank)
      wait.ranks.push_back(process.rank.value_or(0));
    else
      wait.pids.push_back(process.pid);
  }
  std::vector<LongWait> waits;
  for (auto& [key, wait] : all) {
    std::sort(wait.ranks.begin(), wait.ranks.end());
    waits.push_back(std::move(wait));
  }
  std::stable_sort(waits.begin(), waits.end(),
                   [](const LongWait& l, const LongWait& r) { return l.most_s > r.most_s; });
  return waits;
}

}  // namespace hostprobe::analysis
