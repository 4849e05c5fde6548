// process_task.h: what a process of a job was started for, and which processes are its ranks.
//
// Room 3. Processes that a rank or a launcher starts inherit their environment, RANK too; so the command line, the parents
// and the threads are asked as well.
#pragma once

#include <vector>

#include "answer/process.h"

namespace hostprobe::analysis {

struct ProcessAnswer;
struct Trace;

// By its command line; a DataLoader worker by its first thread too.
ProcessTask task_of(const ProcessAnswer& process);

// A worker of that process's data loader.
bool loads_for(const ProcessAnswer& worker, const ProcessAnswer& process);

// The process can write into a pipe: what comes out of it, it may have made.
bool writes_into_pipes(const Trace& trace);

// Which of them are ranks, and which are workers of others.
void tell_kinds(std::vector<ProcessAnswer>& processes);

}  // namespace hostprobe::analysis
