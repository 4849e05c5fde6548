// call_trace.h: a trace file of one process, out of calls that another tool timed by the clock of the day.
//
// Room 3. Calls may come in any order; they are held until the file is written, 64 bytes each.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "format/imported.h"
#include "left_out.h"
#include "trace/trace_writer.h"

namespace hostprobe::analysis {

// Whose trace it is.
struct TracedOrigin {
  std::uint32_t source = 0;  // TraceSource
  std::string mode;          // what a report calls the run's mode
  std::uint32_t pid = 0;
  int rank = -1, world_size = -1;
  std::string host, program, command;
  bool is_rank_guessed = false;
  bool is_open = false;  // of a dump: the process was in the middle of something
  std::string note;      // what had to be supposed, for a person; "" = nothing
};

struct TimedCall {
  std::uint32_t tid = 0;
  std::int64_t begin_ns = 0, end_ns = 0;  // CLOCK_REALTIME
  std::uint16_t hook = 0, flags = 0, stack = 0;
  std::uint64_t a = 0, b = 0, c = 0, d = 0, e = 0;
};

class CallTrace {
 public:
  CallTrace(const std::string& run, const TracedOrigin& origin);

  // One row for each name and type.
  std::uint16_t hook(const HookShape& shape);
  std::uint64_t text(std::string_view text) { return out_.add_string(text); }
  // Python frames, "function (file:line)", the innermost first; 0: there are none, or too many stacks.
  std::uint16_t stack(const std::vector<std::string>& frames);
  void name_thread(std::uint32_t tid, const std::string& name) { threads_[tid].name = name; }
  void add(const TimedCall& call);
  bool empty() const { return count_ == 0; }
  // A moment that the process is known to have lived at.
  void lived(std::int64_t ns);

  // Since when ticks count, for words of records that hold ticks.
  std::uint64_t ticks(std::int64_t ns) const;
  // Writes the file and returns its path. `problem`: why it is not all that was measured; "" = it is.
  std::string finish(const LeftOut& left_out, const std::string& problem, std::uint64_t read_bytes,
                     std::uint64_t all_bytes);

 private:
  struct OwnThread {
    std::string name;
    std::vector<TimedCall> calls;
  };

  void write_thread(std::uint32_t tid, OwnThread& thread);
  void add_missing(const LeftOut& left_out, const std::string& problem, std::uint64_t read_bytes,
                   std::uint64_t all_bytes);
  Record record_of(const TimedCall& call) const;

  const TracedOrigin origin_;
  TraceWriter out_;
  std::map<std::pair<int, std::string>, std::uint16_t> hooks_;
  std::map<std::vector<std::string>, std::uint16_t> stacks_;
  std::map<std::uint32_t, OwnThread> threads_;
  std::uint64_t count_ = 0;
  std::int64_t first_ns_ = 0, last_ns_ = 0;  // 0 = none yet
};

}  // namespace hostprobe::analysis
