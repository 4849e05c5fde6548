// dump_output.h: what a dump has written and not yet handed on.
//
// Room 3.
#pragma once

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "dump.h"

namespace hostprobe::analysis {

class DumpOutput {
 protected:
  explicit DumpOutput(const Sink& sink) : sink_(sink) {}

  template <typename... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Args>(args)...);
  }

  // Where there are at least so many bytes.
  void flush(std::size_t from_bytes) {
    if (buffer_.size() < from_bytes || buffer_.size() == 0) return;
    sink_({buffer_.data(), buffer_.size()});
    buffer_.clear();
  }

  fmt::memory_buffer& buffer() { return buffer_; }

 private:
  const Sink& sink_;
  fmt::memory_buffer buffer_;
};

}  // namespace hostprobe::analysis
