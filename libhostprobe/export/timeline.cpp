// timeline.cpp: see timeline.h.
#include "timeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/run_devices.h"
#include "trace/trace_head.h"

namespace hostprobe::analysis {
namespace {

// Ranks of a host wait for each other: when the kernels of one ran is only known from the calls of all.
bool is_replayed_together(const ChosenJob& run) {
  const std::vector<RunFile> files = run_files(run.traces);
  return std::count_if(files.begin(), files.end(),
                       [](const RunFile& file) { return file.header.source == kFromProbe; }) > 1;
}

}  // namespace

TimeSpan ExportRequest::span_of(const std::string& host) const {
  if (!spans_of_hosts) return {};
  const auto found = spans_of_hosts->find(host);
  return found == spans_of_hosts->end() ? TimeSpan{0, 0} : found->second;
}

std::vector<std::string> write_timeline(const ExportRequest& request, const ExportProgress& progress,
                                        TimelineWriter& out) {
  const ChosenJob& run = request.run;
  const ChosenJob& together = request.together == nullptr ? run : *request.together;
  RunDevices devices;
  const bool twice = is_replayed_together(together);
  if (twice)
    visit_traces(
        together, [&devices](const Timeline& timeline) { devices.add(timeline); }, [](const Trace&) {},
        [&progress](std::uint64_t done, std::uint64_t all) {
          if (progress) progress(done, 2 * all);
        });
  std::vector<std::string> left_out;
  std::vector<std::string> problems = visit_traces(
      run,
      [&](const Timeline& timeline) {
        out.keep(request.span_of(host_of(timeline.trace().header)));
        write_process_rows(timeline, *devices.of(timeline), out);
      },
      [&](const Trace& trace) {
        out.keep(request.span_of(host_of(trace.header)));
        const std::string obstacle = out.add_machine(trace);
        if (!obstacle.empty()) left_out.push_back(fmt::format("{}: not in the file: {}", trace.path, obstacle));
      },
      [&](std::uint64_t done, std::uint64_t all) {
        if (progress) progress(twice ? all + done : done, twice ? 2 * all : all);
      });
  out.finish();
  problems.insert(problems.end(), left_out.begin(), left_out.end());
  return problems;
}

}  // namespace hostprobe::analysis
