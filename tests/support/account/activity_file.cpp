// activity_file.cpp: see activity_file.h.
#include "activity_file.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace hostprobe::analysis {
namespace {

constexpr unsigned kMostFiles = 1000;  // of one process id, as the simulated driver makes them

template <std::size_t N>
std::string_view field(const char (&text)[N]) {
  return {text, strnlen(text, N)};
}

bool is_of(const ActivityHead& head, const FileHeader& process) {
  return head.pid == process.pid && field(head.boot_id) == field(process.boot_id) &&
         field(head.program) == field(process.program) && head.start_ticks >= process.start.ticks;
}

}  // namespace

std::optional<ActivityFile> ActivityFile::open(const std::string& path) {
  ActivityFile opened;
  try {
    opened.file_ = std::make_unique<MappedFile>(path);
  } catch (const std::system_error&) {
    return std::nullopt;
  }
  const std::size_t size = opened.file_->size();
  if (size < sizeof(ActivityHead)) return std::nullopt;
  ActivityHead& head = opened.head_;
  std::memcpy(&head, opened.file_->bytes(), sizeof head);
  if (head.magic != kActivityMagic || head.version != kActivityVersion || head.row_bytes != sizeof(ActivityRow) ||
      head.head_bytes < sizeof head || head.head_bytes > size) {
    return std::nullopt;
  }
  opened.rows_ = std::min<std::uint64_t>(head.rows, (size - head.head_bytes) / sizeof(ActivityRow));
  return opened;
}

// A process that has become another program by exec has a file for each, and so has a later one of the same id: the first
// that began after the trace did is this one's.
std::optional<ActivityFile> activities_of(const Trace& trace) {
  const std::filesystem::path folder = std::filesystem::path(trace.path).parent_path();
  std::optional<ActivityFile> first;
  for (unsigned number = 0; number < kMostFiles; ++number) {
    const auto path = folder / (std::to_string(trace.header.pid) + "-" + std::to_string(number) + kActivitySuffix);
    std::error_code error;
    if (!std::filesystem::exists(path, error)) break;
    std::optional<ActivityFile> one = ActivityFile::open(path.string());
    if (!one || !is_of(one->head(), trace.header)) continue;
    if (!first || one->head().start_ticks < first->head().start_ticks) first = std::move(one);
  }
  return first;
}

}  // namespace hostprobe::analysis
