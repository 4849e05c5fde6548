// process_task.h: what a process of a job was started for, and which processes are its ranks.
//
// Room 3. Processes that a rank or a launcher starts inherit their environment, RANK too; so the command line, the parents
// and the threads are asked as well.
#pragma once

#include <vector>

namespace hostprobe::analysis {

struct ProcessAnswer;

enum class ProcessTask {
  kUnknown,
  kDataLoader,       // a worker of PyTorch's DataLoader, however it was started
  kLauncher,         // torchrun's agent
  kCompiler,         // Inductor's compile worker, and those that it forks
  kForkServer,       // of Python's multiprocessing
  kResourceTracker,  // the same
  kSpawned,          // by Python's multiprocessing, for what is not known
};

// An id, for scripts.
const char* task_name(ProcessTask task);
// "DataLoader worker"
const char* task_words(ProcessTask task);

// By its command line; a DataLoader worker by its first thread too.
ProcessTask task_of(const ProcessAnswer& process);

// A worker of that process's data loader.
bool loads_for(const ProcessAnswer& worker, const ProcessAnswer& process);

// Which of them are ranks, and which are workers of others.
void tell_kinds(std::vector<ProcessAnswer>& processes);

}  // namespace hostprobe::analysis
