// run.h: a run folder that was opened: its traces as they were then, what could not be read, and the answer about all of it.
//
// Room 5. Traces are read when rows of them are asked for, and are gone when nobody holds them. May be asked by several threads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "analysis/run_answer.h"
#include "model/timeline.h"
#include "report/json_value.h"
#include "table.h"
#include "trace/memory_budget.h"
#include "trace/symbols.h"

namespace hostprobe::tables {

// One trace, read. Immutable.
struct OpenTrace {
  OpenTrace(analysis::Trace one, analysis::Symbols& symbols) : trace(std::move(one)), timeline(trace, symbols) {}

  analysis::Trace trace;
  analysis::Timeline timeline;
  std::int64_t shift_ns = 0;  // what to add to CLOCK_MONOTONIC of its host: time since the run began
};

// What the header of a trace file says, or where that is damaged the rest of the file.
struct TraceHead {
  std::string path;
  std::uint64_t bytes = 0;
  int rank = -1;
  std::string host, boot_id;
  std::uint64_t begin_monotonic_ns = 0;
};

// All that the analysed tables are made of.
struct Answer {
  analysis::RunAnswer run;
  analysis::JsonValue report;  // the document of `report --json`
};

class Run {
 public:
  // Throws std::system_error when there is no such path, BadRequest when it holds no trace that can be read.
  // Of a run folder the job with this number, else its newest.
  Run(const std::string& path, std::optional<unsigned> job);

  const std::string& path() const { return path_; }
  const analysis::ChosenJob& chosen() const { return chosen_; }
  const std::vector<TraceHead>& traces() const { return traces_; }
  std::uint64_t start_realtime_ns() const { return start_realtime_ns_; }
  Metadata metadata() const;

  // Null: it cannot be read; then, and for what is damaged in it, problems() has a line.
  std::shared_ptr<const OpenTrace> trace(std::size_t number);
  analysis::Symbols& symbols() { return symbols_; }
  // Made once, of all traces, by as many threads as there are CPUs.
  std::shared_ptr<const Answer> answer();
  // What to add to CLOCK_MONOTONIC of a host.
  std::int64_t shift_of(const std::string& host, const std::string& boot_id) const;

  void note(const std::string& problem);
  std::vector<std::string> problems() const;

 private:
  using HostBoot = std::pair<std::string, std::string>;

  bool read_head(const std::string& path);
  void read_damaged(const std::string& path);
  void add(TraceHead head, std::int64_t realtime_offset_ns);
  std::shared_ptr<const OpenTrace> read(const std::string& path);

  const analysis::ChosenJob chosen_;
  std::string path_;
  std::vector<TraceHead> traces_;
  std::map<HostBoot, std::int64_t>
      realtime_offsets_;  // CLOCK_REALTIME minus CLOCK_MONOTONIC, the same for all of a host
  std::uint64_t start_realtime_ns_ = 0;
  analysis::Symbols symbols_;
  analysis::MemoryBudget budget_;  // outlives the traces, which are released by whoever holds this

  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<const OpenTrace>> open_;
  std::vector<std::string> problems_;
  std::mutex answer_mutex_;
  std::shared_ptr<const Answer> answer_;
};

}  // namespace hostprobe::tables
