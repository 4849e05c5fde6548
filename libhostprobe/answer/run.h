// run.h: every answer about a run: all its processes, and what could not be read.
//
// The waist (answer/). analysis/run_answer.h fills it; whatever is printed or exported is read from here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collective.h"
#include "delay.h"
#include "finding.h"
#include "host_clock.h"
#include "job.h"
#include "kernel.h"
#include "process.h"
#include "step_time.h"

namespace hostprobe::analysis {

struct MissingRank {
  int rank = -1;  // on the communicator
  std::optional<int> job_rank = {};
  std::uint32_t sequence = 0;                    // of its last collective there; 0 = none was seen
  bool has_main = false;                         // there is a trace of its main thread
  std::optional<OpenWaitAnswer> open_wait = {};  // that thread's; nothing: it runs
  std::vector<std::string> stack = {};           // of its last collective there, where one was taken
};

struct StuckCollective {
  std::string communicator;  // hexadecimal
  std::uint32_t ranks = 0;
  std::string operation;
  std::uint32_t sequence = 0;
  std::uint32_t arrived = 0;
  double since_ms = 0;  // the first rank is in it for so long
  std::vector<MissingRank> missing;
  std::vector<std::string> stack = {};  // of a rank that waits in it, where one was taken
};

struct OneStep {
  std::uint64_t number = 0;
  std::string type;  // on the rank where it took longest, as the next two
  double ms = 0;
  std::string trace_path;
};

struct Unreadable {
  std::string path;
  std::string what;
  std::uint64_t offset = 0;
};

// Main threads that have been in one wait for long.
struct LongWait {
  std::string function;
  std::string library;
  std::string python;  // "" = not known
  bool sleeps = false;
  bool ended = false;               // the processes have; it is what they were in last
  std::vector<int> ranks;           // sorted
  std::vector<std::uint32_t> pids;  // of processes that are no ranks
  double least_s = 0;
  double most_s = 0;
};

// A process that did not end as programs do: by a signal, with a status that is not 0, or without a word.
struct Death {
  std::size_t process = 0;   // its place among the run's
  std::uint32_t others = 0;  // that ended so later, of the same incarnation
};

struct Restarts {
  std::uint32_t count = 0;
  double lost_s = 0;  // between the end of an incarnation and the begin of the next
};

// What can be said where nothing stands out, of the main threads.
struct WorstWaits {
  double wait_pct = 0;     // the heaviest wait, of wall time
  double wake_p99_ns = 0;  // the slowest; 0 = none was seen
};

struct RunAnswer {
  std::string path;
  std::size_t job = 1;                   // of `jobs`, counted from 1: it is all that is told of
  std::vector<JobSummary> jobs;          // of the run folder
  std::vector<ProcessAnswer> processes;  // ranks first, then by start time
  std::vector<Unreadable> unreadable;
  std::vector<CollectiveAnswer> collectives;
  std::vector<StuckCollective> stuck;
  KernelAnswer kernel;
  std::optional<RunPath> critical_path;
  std::optional<StepTime> step_time;
  TimeUnknown step_time_unknown = TimeUnknown::kNoWorker;
  std::vector<std::string> step_members;  // whose it is, by their traces
  StepAnswer steps;                       // of the process that made most of them
  std::optional<OneStep> one_step;        // the answer is of that one alone
  std::optional<double> start_up_ms;      // the longest of the ranks; nothing: no step has a place in time
  std::vector<std::string> hosts;
  std::string mode;
  std::uint32_t ranks = 0;
  std::string job_id;                // as the launcher says; "" = not said, or several
  std::uint32_t world = 0;           // ranks that the launcher says there are; 0 = not said
  std::vector<int> unwritten_ranks;  // of these, those without a trace; sorted
  std::uint64_t start_realtime_ns = 0;
  double wall_s = 0;
  std::optional<double> clock_error_us;          // nothing across hosts that cannot be aligned
  std::map<std::string, HostClock> host_clocks;  // of several hosts, those that are aligned with rank 0's
  std::vector<Finding> findings;                 // heaviest first; empty: nothing stands out
  WorstWaits worst_waits;                        // what can be said then
  std::vector<LongWait> long_waits;              // longest first
  std::vector<Death> deaths;                     // the first of each incarnation
  Restarts restarts;
  std::vector<DelayRow> delay_chain;  // empty: no collective was seen, so no delay reaches another rank

  // Of step_members; nullptr: its trace is not among the processes.
  const ProcessAnswer* step_member(std::uint32_t member) const;
  // The probe's own trace of the process that a profile is of; nullptr: it is no profile, or the run has none.
  const ProcessAnswer* traced(const ProcessAnswer& profile) const;
  std::string started() const;  // ISO 8601, UTC; "" when unknown
  // Some process launched work for one, waited for one, or somebody saw what ran there.
  bool uses_gpu() const;
};

// They lived at the same time, for all that is known. Numbers of processes are used again, but not at a time.
bool overlap(const ProcessAnswer& one, const ProcessAnswer& other);

// ISO 8601, UTC; "" for 0, which is not known.
std::string utc_text(std::uint64_t realtime_ns);

}  // namespace hostprobe::analysis
