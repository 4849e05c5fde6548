// kernel_table.h: rows of a kernel's trace as they are read, in any order, on their way into a trace file.
//
// Room 3. Held in memory until write(): 24 bytes a row.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "format/kernel.h"
#include "import/input/left_out.h"
#include "trace/trace_writer.h"

namespace hostprobe::analysis {

// What tasks and interrupts are called; a row for each change of a name.
class KernelNameTable {
 public:
  // `process` 0: not known. False: it is called so already, or there are too many.
  bool add_task(std::uint32_t tid, std::uint64_t ticks, std::string_view name, std::uint32_t process = 0);
  // The next that has this number is another task.
  void renew(std::uint32_t tid);
  void add_irq(std::uint32_t number, std::string_view name);
  void add_inside(std::uint32_t tid, std::uint32_t inside);
  bool knows(std::uint32_t tid) const { return tasks_.contains(tid); }
  // Those since the last time.
  std::vector<KernelNameRow> take();

 private:
  struct Known {
    std::string name;
    std::uint32_t process = 0;
    bool is_gone = false;
  };
  void put(std::uint32_t number, std::uint64_t ticks, std::string_view name, std::uint32_t process, KernelNamed named);

  std::unordered_map<std::uint32_t, Known> tasks_;
  std::unordered_map<std::uint32_t, std::string> irqs_;
  std::vector<KernelNameRow> rows_;
};

class KernelTable {
 public:
  explicit KernelTable(LeftOut& left_out) : left_out_(left_out) {}

  // `ticks` is the time as the file tells it.
  void add(std::uint32_t cpu, std::uint64_t ticks, KernelRow row);
  // Before the next row of that CPU.
  void add_lost(std::uint32_t cpu, std::uint64_t count);
  KernelNameTable& names() { return names_; }

  std::uint64_t rows() const { return rows_; }
  std::uint64_t lost() const;
  std::uint64_t first_ticks() const { return first_ticks_; }
  std::uint64_t last_ticks() const { return last_ticks_; }
  void write(TraceWriter& out);

 private:
  struct Cpu {
    std::vector<KernelRow> rows;
    std::map<std::uint64_t, std::uint64_t> lost;  // how many before the first row since then
    std::uint64_t pending_lost = 0;
    bool is_sorted = true;
  };
  static void write_cpu(std::uint32_t number, Cpu& cpu, TraceWriter& out);

  LeftOut& left_out_;
  std::map<std::uint32_t, Cpu> cpus_;
  KernelNameTable names_;
  std::uint64_t rows_ = 0;
  std::uint64_t first_ticks_ = UINT64_MAX;
  std::uint64_t last_ticks_ = 0;
};

}  // namespace hostprobe::analysis
