// source.h: what `hostprobe sched` records by: events through tracefs, or totals that programs in the kernel keep (eBPF).
//
// Room kernel/. Lives in the process that records (recorder_process.h), writes one trace file of the run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sched_options.h"
#include "trace/trace_writer.h"

namespace hostprobe::kernel {

struct SourceTotals {
  std::string path;
  std::uint64_t rows = 0;
  std::uint64_t lost = 0;
  std::uint64_t cost_ns = 0;  // CPU time of all CPUs, where the source knows it
};

class Source {
 public:
  virtual ~Source() = default;

  virtual const analysis::TraceWriter& file() const = 0;
  // Records these tasks and what they start; of the whole machine nobody in particular. The program is `program`, 0 = none.
  virtual void begin(const std::vector<int>& tids, int program) = 0;
  // What a person may want to know once it has begun.
  virtual std::vector<std::string> notes() const { return {}; }
  // Nothing is recorded until it goes on; what was missed meanwhile is no loss.
  virtual void pause() = 0;
  virtual void go_on() = 0;
  // Reads what there is; true: there was something.
  virtual bool read() = 0;
  // So long nothing has to be read, and so long it may take until a pause is seen.
  virtual int idle_ms() const = 0;
  // So that a file that is cut off here can be read. Returns how long it may be until the next time.
  virtual std::uint64_t put_down() = 0;
  // `switches`: of the program and all that it started and waited for; 0 = not known.
  virtual SourceTotals finish(std::uint64_t switches) = 0;
};

using Tell = std::function<void(const std::string& note)>;

// Both throw std::runtime_error with what keeps them: what, why, and what to do.
std::unique_ptr<Source> open_tracefs_source(const SchedOptions& options, const Tell& tell);
std::unique_ptr<Source> open_bpf_source(const SchedOptions& options);

// The head of a trace of the kernel, without times.
FileHeader kernel_header(const SchedOptions& options);

}  // namespace hostprobe::kernel
