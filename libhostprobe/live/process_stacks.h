// process_stacks.h: what every thread of living processes is doing, seen from outside.
//
// Room 3. Native and Python frames are read without help from the process, whether or not hostprobe is in it; roles and
// waits come from its trace, where it has one. Each thread is stopped only for as long as its registers and its stack are
// copied.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "trace/jobs.h"
#include "trace/roles.h"

namespace hostprobe::analysis {

struct ThreadWait {
  std::string function;
  std::string library;  // that called it
  double since_s = 0;
};

struct ThreadStack {
  std::uint32_t tid = 0;
  std::string name;
  Role role = Role::kOther;
  char state = '?';  // as ps shows it, before it was stopped
  std::optional<ThreadWait> wait;
  std::vector<std::string> python;  // innermost first, as all stacks
  std::vector<std::string> native;
  std::string call;    // the call into a library that it is in, or else its innermost function
  std::string unread;  // why there is no stack
};

struct ProcessStacks {
  pid_t pid = 0;
  std::optional<int> rank;
  std::string command;
  bool recorded = false;
  std::string unread;  // why nothing, or no waits, could be read
  std::vector<ThreadStack> threads;
};

struct ThreadInCall {
  pid_t pid = 0;
  std::optional<int> rank;
  std::uint32_t tid = 0;
  std::optional<double> since_s;
};

// Threads of one role in the same call in two processes or more.
struct SharedCall {
  std::string call;
  Role role = Role::kOther;
  std::vector<ThreadInCall> threads;
};

struct StacksAnswer {
  std::vector<ProcessStacks> processes;  // by rank, then by pid
  std::vector<SharedCall> shared;        // most processes first
  std::size_t ended = 0;                 // of the run's processes
};

// Of one process. Throws std::runtime_error when there is none, TraceForbidden when we may not look.
StacksAnswer stacks_of_process(pid_t pid);
// Of all processes of a run that live on this machine.
StacksAnswer stacks_of_run(const ChosenJob& run);

// Nothing where it has ended, lives elsewhere, or the trace does not tell.
std::optional<pid_t> living_process_of(const std::string& trace_path);

}  // namespace hostprobe::analysis
