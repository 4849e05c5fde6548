// exported_run.cpp: see exported_run.h.
#include "exported_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "trace/file_bytes.h"
#include "trace/kernel_rows.h"
#include "trace/reader.h"
#include "trace/symbols.h"
#include "trace/trace_head.h"

namespace hostprobe::analysis {
std::vector<std::string> visit_traces(const ChosenJob& run, const std::function<void(const Timeline&)>& visit,
                                      const std::function<void(const Trace&)>& visit_kernel,
                                      const ExportProgress& progress) {
  std::vector<std::string> problems;
  Symbols symbols;
  const std::vector<std::string>& paths = run.traces;
  std::uint64_t all = 0, done = 0;
  for (const std::string& path : paths) all += file_bytes(path);
  for (const std::string& path : paths) {
    std::optional<Trace> trace;
    try {
      trace = read_trace(path);
    } catch (const TraceError& error) {
      problems.push_back(fmt::format("{}: offset {}: {}", path, error.offset, error.what()));
    } catch (const std::system_error& error) {
      problems.push_back(fmt::format("{}: {}", path, error.what()));
    }
    if (trace && is_kernel_trace(*trace))
      visit_kernel(*trace);
    else if (trace)
      visit(Timeline(*trace, symbols));
    if (progress) progress(done += file_bytes(path), all);
    if (!trace) continue;
    for (const Damage& damage : trace->damages)
      problems.push_back(fmt::format("{}: {} bytes at offset {}: {}", path, damage.bytes, damage.offset, damage.what));
  }
  return problems;
}

std::uint64_t first_moment_ns(const ChosenJob& run) {
  constexpr std::uint64_t kClockChangeNs = 1'000'000;  // of the hosts' clocks, while the run lasts
  std::uint64_t first = UINT64_MAX;
  for (const auto& [path, header] : run_files(run.traces))
    for (const ClockPair* pair : {&header.start, &header.first})
      if (pair->realtime_ns != 0) first = std::min(first, pair->realtime_ns);
  return first == UINT64_MAX ? 0 : first - std::min(first, kClockChangeNs);
}

}  // namespace hostprobe::analysis
