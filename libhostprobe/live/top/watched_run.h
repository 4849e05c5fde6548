// watched_run.h: the processes of a job that runs, looked at again and again, as one view.
//
// Room 3. A rank that dies keeps its row, one that is started again takes it over, and a process that joins gets one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "live_view.h"
#include "recent_causes.h"
#include "trace/trace_head.h"

namespace hostprobe::analysis {

struct WatchTarget {
  std::string run = {};              // a run folder; "": one process
  std::optional<unsigned> job = {};  // of the folder; nothing: the newest
  pid_t pid = 0;
};

// Whose rows there are: the newest process of each rank; where there are no ranks, what is no worker of another one.
std::vector<RunFile> rank_files(std::vector<RunFile> files);

class WatchedRun {
 public:
  // Throws NotRecorded for a process that does not record, std::runtime_error where there is nothing to look at.
  explicit WatchedRun(WatchTarget target);
  ~WatchedRun();

  // Once a second.
  void read();
  LiveView view(const RecentCauses* causes, std::optional<double> causes_age_s) const;
  // What the analysis is to read.
  std::string path() const;
  std::vector<std::string> traces() const { return traces_; }

  // From now on the steps are compared with those before.
  void begin_trial(const std::string& fix, bool on);

 private:
  struct Process;
  struct Trial {
    std::string fix;
    bool on;
    std::uint64_t at_ns;
    std::vector<double> before_ms;
  };

  bool is_scan_due() const;
  void scan();
  std::vector<std::string> find_traces();
  void tell_trial(LiveView& view) const;
  void tell_auto(LiveView& view) const;
  const Process* stepping() const;

  WatchTarget target_;
  std::vector<std::string> traces_;                            // of the job
  std::map<std::string, std::unique_ptr<Process>> processes_;  // by trace
  std::uint64_t scanned_ns_ = 0, folder_changed_ns_ = 0;
  std::size_t elsewhere_ = 0;
  std::optional<Trial> trial_;
};

// "" where every rank that makes steps goes on making them.
std::string hang_text(const std::vector<LiveRank>& ranks, const std::string& stuck);

}  // namespace hostprobe::analysis
