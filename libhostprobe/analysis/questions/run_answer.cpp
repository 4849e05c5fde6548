// run_answer.cpp: see run_answer.h.
#include "run_answer.h"

#include <time.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <system_error>

#include "analysis/trace/reader.h"
#include "parallel.h"

namespace hostprobe::analysis {
namespace {

constexpr double kMostWallMs = 1e12;  // 30 years: more is a damaged clock, and would not fit 64 bits of nanoseconds

std::uint64_t bytes_of(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

// Processes that a rank starts inherit RANK; only the one that was not started by a traced process of that rank is it.
void tell_kinds(std::vector<ProcessAnswer>& processes) {
  for (ProcessAnswer& process : processes) {
    if (process.kind != ProcessKind::kRank) continue;
    for (const ProcessAnswer& other : processes) {
      const bool parent = other.pid == process.parent_pid && other.host == process.host && other.rank == process.rank &&
                          other.start_monotonic_ns < process.start_monotonic_ns;
      if (parent && &other != &process) process.kind = ProcessKind::kOther;
    }
  }
}

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
    if (process.steps.count() > run.steps.count()) run.steps = process.steps;
    if (process.clock_error_us) run.clock_error_us = std::max(run.clock_error_us.value_or(0), *process.clock_error_us);
  }
  run.wall_s = 1e-9 * static_cast<double>(end_ns - run.start_realtime_ns);
  run.hosts.assign(hosts.begin(), hosts.end());
  run.ranks = static_cast<std::uint32_t>(ranks.size());
  if (hosts.size() > 1) run.clock_error_us.reset();
}

// One trace file. What is open stays open where collectives are to be put together with other ranks'.
struct Opened {
  std::unique_ptr<Trace> trace;
  std::unique_ptr<Timeline> timeline;
  std::optional<ProcessAnswer> answer;
  std::optional<Unreadable> unreadable;
};

Opened read_one(const std::string& path, Symbols& symbols, MemoryBudget& budget, unsigned cores) {
  Opened opened;
  try {
    opened.trace = std::make_unique<Trace>(read_trace(path, &budget));
    opened.timeline = std::make_unique<Timeline>(*opened.trace, symbols);
    opened.answer = analyse_process(*opened.timeline, symbols, cores);
    if (!opened.answer->collectives.ranks.empty()) return opened;
  } catch (const TraceError& error) {
    opened.unreadable = Unreadable{path, error.what(), error.offset};
  } catch (const std::system_error& error) {
    opened.unreadable = Unreadable{path, error.what(), 0};
  }
  opened.timeline.reset();
  opened.trace.reset();
  return opened;
}

std::vector<Opened> read_all(const std::vector<std::string>& paths, Symbols& symbols, MemoryBudget& budget,
                             const Progress& progress, unsigned cores) {
  std::uint64_t all = 0, done = 0;
  for (const std::string& trace : paths) all += bytes_of(trace);
  std::mutex mutex;
  std::vector<Opened> opened(paths.size());
  // Where there are fewer traces than cores, the threads of a trace share the rest.
  const auto inner = static_cast<unsigned>(std::max<std::size_t>(1, cores / std::max<std::size_t>(1, paths.size())));
  run_parallel(paths.size(), cores, [&](std::size_t i) {
    const auto tell = [&](std::uint64_t more) {
      const std::lock_guard lock(mutex);
      done += more;
      if (progress) progress(done, all);
    };
    tell(0);
    opened[i] = read_one(paths[i], symbols, budget, inner);
    tell(bytes_of(paths[i]));
  });
  if (progress) progress(all, all);
  return opened;
}

std::vector<CollectiveAnswer> join_ranks(const std::vector<Opened>& opened, const RunAnswer& run) {
  std::map<std::string, std::vector<CollectiveSource>> sources;
  for (const Opened& one : opened)
    if (one.timeline) sources[one.answer->trace_path] = collective_sources(*one.timeline);
  std::vector<CollectiveMember> members;
  for (const ProcessAnswer& process : run.processes) {
    if (process.collectives.shares.empty()) continue;
    members.push_back({&process.collectives, process.host, process.rank, std::move(sources[process.trace_path])});
  }
  return answer_collectives(members);
}

}  // namespace

std::string RunAnswer::started() const {
  if (start_realtime_ns == 0) return {};
  const auto seconds = static_cast<time_t>(start_realtime_ns / 1'000'000'000);
  tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

RunAnswer analyse_run(const std::string& path, const Progress& progress, const Effort& effort) {
  RunAnswer run;
  run.path = path;
  Symbols symbols;
  MemoryBudget budget(effort.held_bytes);
  std::vector<Opened> opened =
      read_all(trace_paths(path), symbols, budget, progress, effort.cores == 0 ? usable_cores() : effort.cores);
  for (Opened& one : opened) {
    if (one.answer) run.processes.push_back(*one.answer);
    if (one.unreadable) run.unreadable.push_back(*one.unreadable);
  }
  tell_kinds(run.processes);
  std::stable_sort(run.processes.begin(), run.processes.end(), [](const ProcessAnswer& l, const ProcessAnswer& r) {
    const auto order = [](const ProcessAnswer& p) {
      return std::tuple(p.kind != ProcessKind::kRank, p.kind == ProcessKind::kRank ? p.rank.value_or(0) : 0,
                        p.start_monotonic_ns);
    };
    return order(l) < order(r);
  });
  tell_times(run);
  run.collectives = join_ranks(opened, run);
  run.stuck = find_missing_ranks(run.processes);
  return run;
}

}  // namespace hostprobe::analysis
