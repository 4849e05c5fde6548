// run.h: a run folder that was opened: its traces as they were then, what could not be read, and the answer about all of it.
//
// Room 3. Traces are read when rows of them are asked for, and are gone when nobody holds them. May be asked by several threads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "answer/run.h"
#include "model/run_devices.h"
#include "model/timeline.h"
#include "schema.h"
#include "trace/jobs.h"
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

// A finding in words.
struct FindingWords {
  std::string text, fix_how, evidence;  // sentences, and an object of JSON
};

// The answer, and its words: of rooms above, so whoever opens a run brings them.
struct Answers {
  std::function<std::shared_ptr<const analysis::RunAnswer>(const analysis::ChosenJob& chosen)> analyse;
  FindingWords (*words_of)(const analysis::RunAnswer& run, const analysis::Finding& finding) = nullptr;
};

class Run {
 public:
  // Throws std::system_error when there is no such path, BadRequest when it holds no trace that can be read.
  // Of a run folder the job with this number, else its newest; of that the traces of `host`, or of all where it is empty.
  Run(const std::string& path, std::optional<unsigned> job, const std::string& host, Answers answers);

  const std::string& path() const { return path_; }
  const analysis::ChosenJob& chosen() const { return chosen_; }
  const std::vector<TraceHead>& traces() const { return traces_; }
  std::uint64_t start_realtime_ns() const { return start_realtime_ns_; }
  Metadata metadata() const;

  // Null: it cannot be read; then, and for what is damaged in it, problems() has a line.
  std::shared_ptr<const OpenTrace> trace(std::size_t number);
  analysis::Symbols& symbols() { return symbols_; }
  // What ran on the GPU of a trace of this run. Where no profile says it, all traces are read once.
  std::shared_ptr<const analysis::DeviceTimeline> device_of(const OpenTrace& open);
  // Made once, of all traces.
  std::shared_ptr<const analysis::RunAnswer> answer();
  FindingWords words_of(const analysis::RunAnswer& answer, const analysis::Finding& finding) const {
    return answers_.words_of(answer, finding);
  }
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

  const Answers answers_;
  const analysis::ChosenJob chosen_;
  std::string path_;
  std::vector<TraceHead> traces_;
  std::map<HostBoot, std::int64_t>
      realtime_offsets_;  // CLOCK_REALTIME minus CLOCK_MONOTONIC, the same for all of a host
  std::uint64_t start_realtime_ns_ = 0;
  analysis::Symbols symbols_;

  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<const OpenTrace>> open_;
  std::vector<std::string> problems_;
  std::mutex devices_mutex_;
  std::optional<analysis::RunDevices> devices_;
  std::mutex answer_mutex_;
  std::shared_ptr<const analysis::RunAnswer> answer_;
};

}  // namespace hostprobe::tables
