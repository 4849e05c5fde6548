// export_form.h: the forms in which a run is written for other tools, each in a folder of its own.
//
// Room 3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
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

// One of the two writes; each returns what could not be read or has no place, one line each.
struct ExportForm {
  const char* option;
  const char* meaning;
  std::vector<std::string> (*write)(const ChosenJob& run, const Sink& sink, const ExportProgress& progress);
  std::vector<std::string> (*write_with_steps)(const ChosenJob& run, const RunSteps& steps, const Sink& sink,
                                               const ExportProgress& progress) = nullptr;
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
