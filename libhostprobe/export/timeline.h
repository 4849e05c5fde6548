// timeline.h: what timelines of other tools' viewers are made of, whatever their bytes are: tracks (rows), slices on them,
// numbers over time, and flows from one row to another. A writer puts them into the bytes of one form.
//
// Room 3. Processes come one after the other, what belongs to one behind its begin. A row is a number within its process: below
// kFirstLane the thread that has this id. Flows lead from a launch to its kernel, and from the call that woke a thread to the
// wait that it ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exported_run.h"
#include "model/activity.h"

namespace hostprobe::analysis {

constexpr std::uint64_t kFirstLane = 5'000'000;  // above the ids that a kernel gives: streams, and what overlaps

struct SliceArgument {
  std::string_view name;
  std::string value;  // as JSON has it
};

// Where it begins; the slice says where it ends.
struct Flow {
  const char* name = "";
  std::uint64_t row = 0;
  std::int64_t ns = 0;
};

// Times are CLOCK_MONOTONIC of the process's host.
struct TimelineSlice {
  std::uint64_t row = 0;
  std::string_view name, category;
  std::int64_t begin_ns = 0, end_ns = 0;
  std::vector<SliceArgument> arguments = {};
  std::optional<Flow> to_begin = {}, to_end = {};
};

class TimelineWriter {
 public:
  virtual ~TimelineWriter() = default;

  // What lies outside is left out from now on.
  void keep(const TimeSpan& span) { kept_ = span; }
  const TimeSpan& kept() const { return kept_; }
  void put(const TimelineSlice& slice) {
    if (kept_.meets(slice.begin_ns, slice.end_ns)) add_slice(slice);
  }
  void put(std::string_view number, std::int64_t ns, double value) {
    if (kept_.meets(ns, ns)) add_number(number, ns, value);
  }

  virtual void begin_process(const Trace& trace, const std::string& name) = 0;
  // Before the first slice of the row.
  virtual void add_row(std::uint64_t row, const std::string& name) = 0;
  // What the kernel told of a machine, which is no process. Returns why it has no place; "": it has one.
  virtual std::string add_machine(const Trace& trace) = 0;
  virtual void finish() = 0;

 protected:
  virtual void add_slice(const TimelineSlice& slice) = 0;
  // A point of a curve.
  virtual void add_number(std::string_view name, std::int64_t ns, double value) = 0;

 private:
  TimeSpan kept_;
};

// All of a run. Returns what could not be read or has no place, one line each.
std::vector<std::string> write_timeline(const ExportRequest& request, const ExportProgress& progress,
                                        TimelineWriter& out);

// One process, behind its begin, and what ran on its GPU.
void write_process_rows(const Timeline& timeline, const DeviceTimeline& device, TimelineWriter& out);
// The CPUs of a machine: who ran, and below it which interrupts came. For a writer that has no form of its own for that.
void write_cpu_rows(const Trace& trace, TimelineWriter& out);

}  // namespace hostprobe::analysis
