// timeline_form.h: what a timeline for other tools' viewers is made of, whatever its bytes are.
//
// Room 3. Processes come one after the other, what belongs to one behind its begin. A row is a number within its process: below
// kFirstLane the thread that has this id.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/trace.h"

namespace hostprobe::analysis {

constexpr std::uint64_t kFirstLane = 5'000'000;  // above the ids that a kernel gives: streams, and what overlaps

struct SliceArgument {
  std::string_view name;
  std::string value;  // as JSON has it
};

// Where an arrow begins.
struct ArrowBegin {
  std::uint64_t row = 0;
  std::int64_t ns = 0;
};

// Times are CLOCK_MONOTONIC of the process's host.
struct TimelineSlice {
  std::uint64_t row = 0;
  std::string_view name, category;
  std::int64_t begin_ns = 0, end_ns = 0;
  std::vector<SliceArgument> arguments = {};
  std::optional<ArrowBegin> launch = {};  // to where it begins
  std::optional<ArrowBegin> wake = {};    // to where it ends
};

class TimelineForm {
 public:
  virtual ~TimelineForm() = default;
  virtual void begin_process(const Trace& trace, const std::string& name) = 0;
  // Before the first slice of the row.
  virtual void add_row(std::uint64_t row, const std::string& name) = 0;
  virtual void add_slice(const TimelineSlice& slice) = 0;
  // A point of a curve.
  virtual void add_number(std::string_view name, std::int64_t ns, double value) = 0;
};

}  // namespace hostprobe::analysis
