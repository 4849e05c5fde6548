// run_processes.h: the living processes of a run that record.
//
// Room 3. By the heads of their traces alone.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "trace/jobs.h"

namespace hostprobe::analysis {

struct RunProcess {
  pid_t pid = 0;
  std::optional<int> rank;  // of the job; its workers have the same
  int world_size = 0;       // 0: not said
  bool is_worker = false;   // made by another process of the run that has the same rank
  std::string folder;       // the run
  std::string trace, host;  // its file, and the host's name in there; "": it has none
  std::string job;          // the job's id; "": not said

  std::string title() const;  // "rank 0 (process 4711)"
};

// By rank, its own process first, then by number.
std::vector<RunProcess> processes_of_run(const ChosenJob& job);
// By its open trace; with `pid` alone where it has none.
RunProcess run_process(pid_t pid);

}  // namespace hostprobe::analysis
