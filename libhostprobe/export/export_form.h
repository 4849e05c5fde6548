// export_form.h: the forms in which a run is written for other tools, each in a folder of its own.
//
// Room 3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "answer/step.h"
#include "trace/jobs.h"

namespace hostprobe::analysis {

using Sink = std::function<void(std::string_view)>;
constexpr std::size_t kFlushBytes = 1 << 16;  // a form gives its sink pieces of about this size

// Called now and then with the bytes read so far and the bytes of all traces.
using ExportProgress = std::function<void(std::uint64_t done, std::uint64_t all)>;

// The steps of a run, for forms that part time by them.
struct RunSteps {
  std::map<std::string, std::vector<Step>> of_trace;  // by the trace's path
  bool as_frames = false;                             // stacks begin with the step
};

// ns of a host's CLOCK_MONOTONIC.
struct TimeSpan {
  std::int64_t begin_ns = INT64_MIN, end_ns = INT64_MAX;

  bool meets(std::int64_t from_ns, std::int64_t to_ns) const { return from_ns < end_ns && to_ns >= begin_ns; }
};

// What is written: of all hosts everything, or of each the span in here.
struct ExportRequest {
  const ChosenJob& run;
  const RunSteps& steps;  // of forms that need them
  const ChosenJob* together =
      nullptr;  // all ranks of these hosts, where `run` has some of them: they wait for each other on the GPU
  std::optional<std::map<std::string, TimeSpan>> spans_of_hosts = {};  // a host that is absent has none

  TimeSpan span_of(const std::string& host) const;
};

enum class ExportKind : std::uint8_t {
  kWhole,
  kTimeline,  // can be of spans
  kStacks,    // needs steps
};

// `write` returns what could not be read or has no place, one line each.
struct ExportForm {
  const char* option;
  const char* meaning;
  ExportKind kind;
  std::vector<std::string> (*write)(const ExportRequest& request, const Sink& sink, const ExportProgress& progress);
};

ExportForm chrome_form();
ExportForm perfetto_form();
ExportForm csv_form();
ExportForm collapsed_form();
ExportForm speedscope_form();
ExportForm pprof_form();

// In the order in which they are listed.
inline std::vector<ExportForm> export_forms() {
  return {chrome_form(), perfetto_form(), csv_form(), collapsed_form(), speedscope_form(), pprof_form()};
}

}  // namespace hostprobe::analysis
