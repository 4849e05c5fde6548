// kernel_clock.h: on which clock an imported kernel's trace stands, and where that is on the clock of the run.
//
// Room 3. A trace as text does not name its clock. An integer is the processor's tick counter, which the probe reads too; a
// clock of seconds has to be named, or tied to ours by lines that were written into the trace's own marker file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/file.h"
#include "import/input/run_clock.h"
#include "kernel_line.h"

namespace hostprobe::analysis {

// "… hostprobe ticks=N …" or "… hostprobe monotonic_ns=N …" in the text of a marker, when it was written.
struct ClockTie {
  std::uint64_t time = 0;  // as the trace tells it
  std::uint64_t ticks = 0;
  std::uint64_t monotonic_ns = 0;  // of these two one is 0
};
std::optional<ClockTie> clock_tie(const KernelLine& line);

struct TraceTimes {
  LineTime form = LineTime::kSeconds;
  std::string clock;  // its name, "" where nobody told
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::vector<ClockTie> ties;
};

struct KernelClock {
  std::string problem;           // why its times cannot be put on the clock of the run; "" = they are
  std::vector<ClockPair> pairs;  // for times of the trace as ticks; two at least
  std::string host, boot_id;     // "" = not known
  std::string note;              // what had to be supposed
};

KernelClock join_clock(const TraceTimes& times, const RunClocks& run);

bool is_kernel_clock(std::string_view name);

}  // namespace hostprobe::analysis
