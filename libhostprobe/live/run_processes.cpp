// run_processes.cpp: see run_processes.h.
#include "run_processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <filesystem>
#include <map>
#include <tuple>

#include "open_trace.h"
#include "trace/liveness.h"
#include "trace/trace_head.h"

namespace hostprobe::analysis {
namespace {

RunProcess process_of(const RunFile& file) {
  RunProcess process;
  process.pid = static_cast<pid_t>(file.header.pid);
  if (file.header.rank >= 0) process.rank = file.header.rank;
  process.world_size = std::max(file.header.world_size, 0);
  process.is_worker = file.header.forked_from != 0;
  process.folder = std::filesystem::path(file.path).parent_path().string();
  process.trace = file.path;
  process.host = host_of(file.header);
  process.job = job_id_of(file.header);
  return process;
}

// Of a process that has begun other programs (exec) the newest trace.
std::map<pid_t, RunFile> living(const ChosenJob& job) {
  std::map<pid_t, RunFile> newest;
  for (RunFile& file : run_files(job.traces)) {
    if (file.header.state != kFileOpen || process_liveness(file.header) != Liveness::kLives) continue;
    RunFile& known = newest[static_cast<pid_t>(file.header.pid)];
    if (known.header.first.monotonic_ns <= file.header.first.monotonic_ns) known = std::move(file);
  }
  return newest;
}

}  // namespace

std::string RunProcess::title() const {
  if (!rank) return fmt::format("process {}", pid);
  return is_worker ? fmt::format("worker of rank {} (process {})", *rank, pid)
                   : fmt::format("rank {} (process {})", *rank, pid);
}

std::vector<RunProcess> processes_of_run(const ChosenJob& job) {
  std::vector<RunProcess> processes;
  const std::map<pid_t, RunFile> files = living(job);
  for (const auto& [pid, file] : files) {
    processes.push_back(process_of(file));
    // One that was spawned is no fork of its parent's, and yet has the rank from it.
    const auto parent = files.find(static_cast<pid_t>(file.header.parent_pid));
    const bool has_parents_rank = parent != files.end() && parent->second.header.rank == file.header.rank;
    processes.back().is_worker |= file.header.rank >= 0 && has_parents_rank;
  }
  std::sort(processes.begin(), processes.end(), [](const RunProcess& l, const RunProcess& r) {
    return std::tuple(l.rank.value_or(INT_MAX), l.is_worker, l.pid) <
           std::tuple(r.rank.value_or(INT_MAX), r.is_worker, r.pid);
  });
  return processes;
}

RunProcess run_process(pid_t pid) {
  const std::string path = open_trace_of(pid);
  if (!path.empty())
    for (const RunFile& file : run_files({path})) {
      RunProcess process = process_of(file);
      process.pid = pid;
      return process;
    }
  RunProcess process;
  process.pid = pid;
  return process;
}

}  // namespace hostprobe::analysis
