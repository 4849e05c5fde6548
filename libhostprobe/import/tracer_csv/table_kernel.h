// table_kernel.h: switches and interrupts of a table of events (CSV), on their way into a trace of the kernel.
//
// Room 3. A switch is two lines there, one of who goes and one of who comes; where they do not stand one behind the other, each
// is a switch to or from nobody.
#pragma once

#include <optional>
#include <string>

#include "import/ftrace/kernel_table.h"
#include "tables/tracer_columns.h"

namespace hostprobe::analysis {

class TableKernel {
 public:
  explicit TableKernel(LeftOut& left_out) : left_out_(left_out), table_(left_out) {}

  static bool is_kernel_event(const std::string& event);
  void add(const TableRow& row);
  // Of a process: what the time of day was.
  void add_process(const TableRow& row);
  // The trace that was made; "": there is nothing to make one of.
  std::string finish(const std::string& run, const std::string& source);

 private:
  struct Going {
    std::uint32_t cpu;
    std::uint64_t ns;
    KernelRow row;
  };
  void put_going();

  LeftOut& left_out_;
  KernelTable table_;
  std::optional<Going> going_;
  std::uint64_t realtime_offset_ns_ = 0;
};

}  // namespace hostprobe::analysis
