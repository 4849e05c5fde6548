// run_answer.cpp: see run_answer.h.
#include "run_answer.h"

#include <time.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "analysis/trace/reader.h"

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

// The calls themselves, a few dozen bytes each, are not needed after this.
void tell_collectives(RunAnswer& run) {
  std::vector<ProcessCalls> all;
  for (const ProcessAnswer& process : run.processes)
    if (!process.collective_calls.empty() || !process.collective_sums.empty())
      all.push_back({&process.collective_calls, &process.collective_sums, process.host, process.rank});
  run.collectives = answer_collectives(all);
  run.stuck = find_missing_ranks(run.processes);
  for (ProcessAnswer& process : run.processes) {
    process.collective_calls = {};
    process.collective_sums = {};
  }
}

void read_one(const std::string& path, Symbols& symbols, RunAnswer& run) {
  try {
    const Trace trace = read_trace(path);
    run.processes.push_back(analyse_process(trace, symbols));
  } catch (const TraceError& error) {
    run.unreadable.push_back({path, error.what(), error.offset});
  } catch (const std::system_error& error) {
    run.unreadable.push_back({path, error.what(), 0});
  }
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

RunAnswer analyse_run(const std::string& path, const Progress& progress) {
  RunAnswer run;
  run.path = path;
  const std::vector<std::string> paths = trace_paths(path);
  std::uint64_t all = 0, done = 0;
  for (const std::string& trace : paths) all += bytes_of(trace);
  Symbols symbols;
  for (const std::string& trace : paths) {
    if (progress) progress(done, all);
    read_one(trace, symbols, run);
    done += bytes_of(trace);
  }
  if (progress) progress(all, all);
  tell_kinds(run.processes);
  std::stable_sort(run.processes.begin(), run.processes.end(), [](const ProcessAnswer& l, const ProcessAnswer& r) {
    const auto order = [](const ProcessAnswer& p) {
      return std::tuple(p.kind != ProcessKind::kRank, p.kind == ProcessKind::kRank ? p.rank.value_or(0) : 0,
                        p.start_monotonic_ns);
    };
    return order(l) < order(r);
  });
  tell_times(run);
  tell_collectives(run);
  return run;
}

}  // namespace hostprobe::analysis
