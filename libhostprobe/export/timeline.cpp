// timeline.cpp: see timeline.h.
#include "timeline.h"

#include <fmt/format.h>

namespace hostprobe::analysis {

std::vector<std::string> write_timeline(const ChosenJob& run, const ExportProgress& progress, TimelineWriter& out) {
  std::vector<std::string> left_out;
  std::vector<std::string> problems = visit_traces(
      run, [&out](const Timeline& timeline) { write_process_rows(timeline, out); },
      [&](const Trace& trace) {
        const std::string obstacle = out.add_machine(trace);
        if (!obstacle.empty()) left_out.push_back(fmt::format("{}: not in the file: {}", trace.path, obstacle));
      },
      progress);
  out.finish();
  problems.insert(problems.end(), left_out.begin(), left_out.end());
  return problems;
}

}  // namespace hostprobe::analysis
