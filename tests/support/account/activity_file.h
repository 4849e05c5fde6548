// activity_file.h: what the simulated driver wrote of its devices beside a trace (format/activity_file.h).
//
// Stays mapped while it is looked at. The file lies where a process of the tracer's own can write, so each number in
// it is checked before it is used.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "format/activity_file.h"
#include "trace/mapped_file.h"
#include "trace/trace.h"

namespace hostprobe::analysis {

class ActivityFile {
 public:
  // Nothing where it is no such file.
  static std::optional<ActivityFile> open(const std::string& path);

  const ActivityHead& head() const { return head_; }
  std::uint64_t rows() const { return rows_; }        // those of names too
  std::uint64_t damaged() const { return damaged_; }  // rows that make no sense
  // on_name(number, text) and on_row(row), in the order in which they were written.
  template <typename OnName, typename OnRow>
  void walk(OnName on_name, OnRow on_row);

 private:
  ActivityRow row(std::uint64_t number) const {
    ActivityRow row;
    std::memcpy(&row, file_->bytes() + head_.head_bytes + number * sizeof row, sizeof row);
    return row;
  }

  std::unique_ptr<MappedFile> file_;
  ActivityHead head_{};
  std::uint64_t rows_ = 0;  // that the file really holds
  std::uint64_t damaged_ = 0;
};

// The file beside the trace that is of the same process.
std::optional<ActivityFile> activities_of(const Trace& trace);

template <typename OnName, typename OnRow>
void ActivityFile::walk(OnName on_name, OnRow on_row) {
  damaged_ = head_.rows - rows_;
  for (std::uint64_t at = 0; at < rows_; ++at) {
    const ActivityRow one = row(at);
    if (one.type == kActivityName) {
      const std::uint64_t more = one.bytes / sizeof one + (one.bytes % sizeof one != 0);
      if (more > rows_ - at - 1) {
        damaged_ += rows_ - at;
        return;
      }
      const std::byte* text = file_->bytes() + head_.head_bytes + (at + 1) * sizeof one;
      on_name(one.name, std::string_view(reinterpret_cast<const char*>(text), one.bytes));
      at += more;
    } else if (one.type >= kActivityKernel && one.type <= kActivityFill && one.end_ns >= one.begin_ns &&
               one.end_ns < kLatestActivityNs) {
      on_row(one);
    } else {
      ++damaged_;
    }
  }
}

}  // namespace hostprobe::analysis
