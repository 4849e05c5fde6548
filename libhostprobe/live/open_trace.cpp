// open_trace.cpp: see open_trace.h.
#include "open_trace.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "format/file.h"
#include "memory_map.h"
#include "own_thread.h"

namespace hostprobe::analysis {
namespace {

namespace fs = std::filesystem;

std::string trace_in_table(const std::string& task) {
  std::error_code gone;
  for (fs::directory_iterator at(task + "/fd", gone), end; !gone && at != end; at.increment(gone)) {
    std::error_code unreadable;
    const std::string path = fs::read_symlink(at->path(), unreadable);
    if (path.ends_with(kFileSuffix)) return path;
  }
  return "";
}

}  // namespace

std::string open_trace_of(pid_t pid) {
  // Where the kernel refused a table of its own, the thread uses the process's.
  std::string path = trace_in_table(fmt::format("/proc/{}", pid));
  if (path.empty())
    if (const pid_t own = own_thread_of(pid); own != 0)
      path = trace_in_table(fmt::format("/proc/{}/task/{}", pid, own));
  return path.empty() ? path : path_from_here(pid, path);
}

}  // namespace hostprobe::analysis
