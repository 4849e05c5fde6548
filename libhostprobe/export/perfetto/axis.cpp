// axis.cpp: see axis.h.
#include "axis.h"

#include <algorithm>
#include <vector>

#include "trace/kernel_rows.h"
#include "trace/reader.h"
#include "trace/trace_head.h"

namespace hostprobe::analysis {
PerfettoAxis::PerfettoAxis(const ChosenJob& run) {
  const std::vector<RunFile> files = run_files(run.traces);
  const auto with_kernel = std::find_if(files.begin(), files.end(), [](const RunFile& one) {
    return one.header.source == kFromKernel && !host_of(one.header).empty();
  });
  if (!files.empty()) host_ = host_of(with_kernel == files.end() ? files.front().header : with_kernel->header);
  for (const auto& [path, header] : files) {
    const auto offset_ns = static_cast<std::int64_t>(header.start.realtime_ns - header.start.monotonic_ns);
    const std::string host = host_of(header);
    if (header.start.realtime_ns != 0) offsets_.try_emplace(host.empty() ? host_ : host, offset_ns);
    if (host == host_ && header.source == kFromKernel) read_ids(path);
  }
  if (const auto own = offsets_.find(host_); own != offsets_.end()) offset_ns_ = own->second;
  for (const auto& [path, header] : files) {
    if (host_of(header) != host_) continue;
    if (begin_ns_ == 0 || header.start.monotonic_ns < begin_ns_) begin_ns_ = header.start.monotonic_ns;
    if (header.source != kFromKernel) pids_.insert(kernel_id(header.pid));
  }
}

// A damaged file tells none.
void PerfettoAxis::read_ids(const std::string& path) {
  try {
    const Trace trace = read_trace_file_only(path);
    const KernelNames names(trace);
    for (const auto& [outside, inside] : names.all_inside())
      if (const auto [known, is_new] = ids_.try_emplace(inside, outside); !is_new && known->second != outside)
        known->second = 0;
  } catch (const TraceError&) {
  }
}

bool PerfettoAxis::is_here(const Trace& trace) const {
  const std::string host = host_of(trace.header);
  return host == host_ || host.empty();
}

std::uint64_t PerfettoAxis::moment(const Trace& trace, std::int64_t monotonic_ns) const {
  const auto other = is_here(trace) ? offsets_.end() : offsets_.find(host_of(trace.header));
  const std::uint64_t moved =
      other == offsets_.end() ? 0 : static_cast<std::uint64_t>(other->second) - static_cast<std::uint64_t>(offset_ns_);
  const std::uint64_t at = static_cast<std::uint64_t>(monotonic_ns) + moved;
  return at > INT64_MAX ? 0 : at;  // before this host was started
}

std::uint32_t PerfettoAxis::kernel_id(std::uint32_t id) const {
  const auto found = ids_.find(id);
  return found == ids_.end() || found->second == 0 ? id : found->second;
}

}  // namespace hostprobe::analysis
