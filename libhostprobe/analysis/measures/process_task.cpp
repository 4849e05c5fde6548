// process_task.cpp: see process_task.h.
#include "process_task.h"

#include <algorithm>
#include <string_view>

#include "answer/process.h"
#include "answer/run.h"
#include "trace/trace.h"

namespace hostprobe::analysis {
namespace {

struct Row {
  const char* part;  // of the command line
  ProcessTask task;
};

constexpr Row kCommands[] = {
    {"multiprocessing.resource_tracker", ProcessTask::kResourceTracker},
    {"multiprocessing.forkserver", ProcessTask::kForkServer},
    {"compile_worker", ProcessTask::kCompiler},
    {"torch.distributed.run", ProcessTask::kLauncher},
    {"torch.distributed.launch", ProcessTask::kLauncher},
    {"torch/distributed/run.py", ProcessTask::kLauncher},
    {"/torchrun ", ProcessTask::kLauncher},
    {"multiprocessing.spawn", ProcessTask::kSpawned},
    {"--multiprocessing-fork", ProcessTask::kSpawned},
};

// A forked child has its parent's command line, which says nothing of it.
bool is_forked(const ProcessAnswer& process) { return process.forked_from != 0; }

const ProcessAnswer* parent_of(const std::vector<ProcessAnswer>& processes, const ProcessAnswer& child) {
  for (const ProcessAnswer& other : processes) {
    if (other.pid == child.parent_pid && other.host == child.host && &other != &child &&
        other.start_monotonic_ns < child.start_monotonic_ns)
      return &other;
  }
  return nullptr;
}

// Those that such a process forks are of its kind, whatever they are called.
void inherit_tasks(std::vector<ProcessAnswer>& processes) {
  for (ProcessAnswer& process : processes) {
    if (!is_forked(process) || process.task != ProcessTask::kUnknown) continue;
    const ProcessAnswer* parent = parent_of(processes, process);
    if (parent == nullptr) continue;
    if (parent->task == ProcessTask::kCompiler) process.task = ProcessTask::kCompiler;
    if (parent->task == ProcessTask::kForkServer) process.task = ProcessTask::kSpawned;
  }
}

ProcessKind kind_of(const std::vector<ProcessAnswer>& processes, const ProcessAnswer& process) {
  const ProcessAnswer* parent = parent_of(processes, process);
  const bool of_a_rank = parent != nullptr && process.rank && parent->rank == process.rank;
  switch (process.task) {
    case ProcessTask::kDataLoader:
    case ProcessTask::kCompiler:
      return ProcessKind::kWorker;
    case ProcessTask::kLauncher:
    case ProcessTask::kForkServer:
    case ProcessTask::kResourceTracker:
      return ProcessKind::kOther;
    case ProcessTask::kSpawned:
      if (of_a_rank) return ProcessKind::kWorker;
      break;
    case ProcessTask::kUnknown:
      break;
  }
  if (is_forked(process)) return ProcessKind::kWorker;
  return process.rank && !of_a_rank ? ProcessKind::kRank : ProcessKind::kOther;
}

// A launcher that is a rank itself sets its own environment only after it has begun: Lightning's starts all but the first.
void find_first_rank(std::vector<ProcessAnswer>& processes) {
  const ProcessAnswer* first_child = nullptr;
  for (const ProcessAnswer& process : processes) {
    if (process.kind != ProcessKind::kRank) continue;
    if (process.rank == 0) return;
    if (process.rank == 1) first_child = &process;
  }
  if (first_child == nullptr) return;
  const ProcessAnswer* parent = parent_of(processes, *first_child);
  if (parent == nullptr || parent->rank || parent->kind != ProcessKind::kOther ||
      parent->task != ProcessTask::kUnknown || parent->program != first_child->program)
    return;
  ProcessAnswer& rank = processes[static_cast<std::size_t>(parent - processes.data())];
  rank.rank = 0;
  rank.kind = ProcessKind::kRank;
}

// A program that sets RANK itself, as children of torch.multiprocessing do, tells its profiler which it is.
void take_ranks_of_profiles(std::vector<ProcessAnswer>& processes) {
  for (const ProcessAnswer& profile : processes) {
    if (profile.mode != "profile" || !profile.rank) continue;
    for (ProcessAnswer& process : processes)
      if (process.mode != profile.mode && !process.rank && process.pid == profile.pid && process.host == profile.host &&
          overlap(process, profile))
        process.rank = profile.rank;
  }
}

}  // namespace

ProcessTask task_of(const ProcessAnswer& process) {
  const ThreadAnswer* main = process.main_thread();
  if (main != nullptr && main->role == Role::kDataloader) return ProcessTask::kDataLoader;
  if (is_forked(process)) return ProcessTask::kUnknown;
  const std::string command = process.command + " ";
  for (const Row& row : kCommands)
    if (command.find(row.part) != std::string::npos) return row.task;
  return ProcessTask::kUnknown;
}

bool loads_for(const ProcessAnswer& worker, const ProcessAnswer& process) {
  if (worker.task != ProcessTask::kDataLoader || worker.host != process.host) return false;
  return worker.parent_pid == process.pid || (process.rank && worker.rank == process.rank);
}

bool writes_into_pipes(const Trace& trace) {
  return std::any_of(trace.events.begin(), trace.events.end(),
                     [](const EventRow& row) { return row.kind == kEventWritesPipe; });
}

void tell_kinds(std::vector<ProcessAnswer>& processes) {
  take_ranks_of_profiles(processes);
  for (ProcessAnswer& process : processes) process.task = task_of(process);
  inherit_tasks(processes);
  for (ProcessAnswer& process : processes) process.kind = kind_of(processes, process);
  find_first_rank(processes);
}

}  // namespace hostprobe::analysis
