// dump_output.h: what the dumps of one trace are written with, and the two kinds of them.
//
// Room 3.
#pragma once

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "export/export_form.h"
#include "trace/symbols.h"
#include "trace/trace.h"

namespace hostprobe::analysis {

enum class DumpForm { kText, kJson };

// Every record of a process, thread by thread; with `switches` also when each was off its CPU.
void dump_process(const Trace& trace, Symbols& symbols, DumpForm form, const Sink& sink, bool switches);
// What the kernel told of a machine, one event a line, all CPUs in time order.
void dump_kernel(const Trace& trace, DumpForm form, const Sink& sink);

// What a dump has written and not yet handed on.
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
