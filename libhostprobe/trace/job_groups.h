// job_groups.h: processes that belong to one job, as far as their heads and the job files tell; the rules stand in jobs.h.
//
// Room 3.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "format/file.h"
#include "job_file.h"
#include "trace_head.h"

namespace hostprobe::analysis {

// A stretch of CLOCK_REALTIME, ns. 0 to 0: not known, which may be any time.
struct JobTime {
  std::uint64_t begin_ns = 0, end_ns = 0;
  bool known() const { return begin_ns != 0; }
  bool overlaps(const JobTime& other) const {
    return !known() || !other.known() || (begin_ns <= other.end_ns && other.begin_ns <= end_ns);
  }
  void add(const JobTime& other);
};

JobTime time_of(const FileHeader& header);

struct JobGroup {
  JobTime time;
  std::vector<RunFile> processes;
  std::vector<JobFile> files;
  std::set<std::string> hosts;
  std::set<std::pair<int, std::uint64_t>> ranks;  // and their incarnations
  std::set<int> worlds;                           // how many ranks there are said to be
  std::set<std::string> ids;                      // of the job, as launchers say

  void add(const RunFile& process);
  void add(JobGroup&& other);
};

// `processes` are the probe's. Every job file is in one of them.
std::vector<JobGroup> group_processes(std::vector<RunFile> processes, const std::vector<JobFile>& files);

}  // namespace hostprobe::analysis
