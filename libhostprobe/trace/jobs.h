// jobs.h: the jobs of a run folder: which of its traces were made together. Whatever reads a run reads one job of it.
//
// Room 3. Only heads of traces and the job files are read. docs/reference/options.md, "Jobs in a run folder", says the same to users.
//
// A job is what one launch started. Two runs after each other say different things about the same rank, and CPU time of
// both belongs to no one moment, so nothing may be added up over them. What ties processes to one job, the strongest first:
//  1. `hostprobe run` started it, or its parent, as a job file says;
//  2. one is a child of the other, or the next program of the same process, on one host since one boot;
//  3. they are ranks that one process started, at a time or again after the others had ended (FileHeader::incarnation);
//  4. they lived at the same time, on any host, and nothing says otherwise: two job files, or two sets of the same ranks.
// A launcher may start `hostprobe run` once for each rank, or each host: job files are of one job where they ran at the same time
// and their ranks complete each other. An id of the job (FileHeader::job) never joins two sets of the same ranks; different ids
// keep apart what 3 and 4 would join; one id joins ranks of several hosts that complete each other, in several folders too.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "answer/job.h"
#include "job_file.h"

namespace hostprobe::analysis {

struct Job {
  std::uint64_t begin_realtime_ns = 0;  // 0: not known
  std::string command;
  std::vector<std::string> traces;  // sorted; the kernel's are in each job whose time they cover
  std::vector<JobFile> files;
  std::set<std::string> ids;  // as launchers say
};

// In the order in which they began; at least one, which is empty where nothing was recorded. A launch that recorded nothing is a job
// only as long as no later one recorded something. Throws std::system_error when there is nothing at that path.
std::vector<Job> jobs_of(const std::string& run);
std::vector<Job> jobs_of_folders(const std::vector<std::string>& runs);  // as if they were one

// By its name: a trace, or what a launch left of itself.
bool is_run_file(const std::string& path);

// What a command was asked to read.
struct ChosenJob {
  // Of a run folder job `number`, counted from 1, else its newest; of a folder that holds runs the newest of them, with those of the
  // same job that lie beside it; or the trace file at `path`. Throws as jobs_of(), and std::invalid_argument when there is no such job.
  // Implicit: whoever names a run means its newest job.
  ChosenJob(const std::string& path, std::optional<unsigned> number = {});  // NOLINT(google-explicit-constructor)

  // Leaves the traces of that host, and those that name none. Throws std::invalid_argument when the host has none.
  void keep_host(const std::string& host);
  // Leaves the traces of those ranks, each pair from the first to the second, and those of the kernel. Throws std::invalid_argument when
  // no trace is of one of them.
  void keep_ranks(const std::vector<std::pair<int, int>>& spans);

  std::string path;  // the run folder itself, or the trace file; of several folders the one that holds them
  std::vector<std::string> folders;  // that the job is read from, or the trace file
  std::vector<std::string> traces;
  std::vector<JobFile> files;
  std::size_t number = 1;
  std::vector<JobSummary> all;    // of the folder
  bool is_newest_folder = false;  // `path` is not what was asked for, but the newest run in there

  bool has_others() const { return all.size() > 1; }
  std::string words() const;  // "RUN", or "job 2 of RUN" where it has others
};

}  // namespace hostprobe::analysis
