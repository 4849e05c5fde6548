// run_clock.cpp: see run_clock.h.
#include "run_clock.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "trace/reader.h"

namespace hostprobe::analysis {
namespace {

bool overlap(const FileHeader& header, const RealSpan& span) {
  return header.start.realtime_ns <= span.end_ns && span.begin_ns <= header.last.realtime_ns;
}

}  // namespace

RunClocks::RunClocks(const std::string& run) {
  std::error_code error;
  if (!std::filesystem::is_directory(run, error)) return;
  for (RunFile& file : run_files(trace_paths(run)))
    if (file.header.source == kFromProbe && file.header.start.monotonic_ns != 0) traces_.push_back(std::move(file));
}

const FileHeader* RunClocks::nearest(std::uint32_t pid, const std::string& host, const RealSpan& span) const {
  const FileHeader* same_host = nullptr;
  for (const auto& [path, header] : traces_) {
    const bool is_host = !host.empty() && host_of(header) == host;
    if (header.pid == pid && overlap(header, span) && (is_host || host.empty())) return &header;
    if (is_host && (same_host == nullptr || overlap(header, span))) same_host = &header;
  }
  return same_host;
}

// The clocks drift apart, and are set: on the line between the two readings that are the farthest apart.
std::uint64_t monotonic_ns(const FileHeader& header, std::uint64_t realtime_ns) {
  const ClockPair &left = header.start, &right = header.last;
  double change = 0;
  if (right.realtime_ns > left.realtime_ns) {
    const double share = static_cast<double>(static_cast<std::int64_t>(realtime_ns - left.realtime_ns)) /
                         static_cast<double>(right.realtime_ns - left.realtime_ns);
    const auto drift =
        static_cast<std::int64_t>((right.monotonic_ns - left.monotonic_ns) - (right.realtime_ns - left.realtime_ns));
    change = static_cast<double>(drift) * share;
  }
  return realtime_ns - left.realtime_ns + left.monotonic_ns +
         static_cast<std::uint64_t>(static_cast<std::int64_t>(change));
}

}  // namespace hostprobe::analysis
