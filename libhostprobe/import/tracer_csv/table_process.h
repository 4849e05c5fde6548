// table_process.h: one process of a table of events, on its way into a trace file.
//
// Room 3.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "import/input/left_out.h"
#include "tables/tracer_columns.h"
#include "trace/trace_writer.h"

namespace hostprobe::analysis {

class TableProcess {
 public:
  // `row` is the first one of the process, whatever it is about; `source` names the table.
  TableProcess(const std::string& run, const TableRow& row, const std::string& source, LeftOut& left_out);

  void add(const TableRow& row);
  std::string finish();

 private:
  struct OwnThread {
    ThreadKey key;
    std::string name, role;
    std::uint64_t end_ticks = 0;
    std::vector<Record> pending;
    std::uint64_t sync_begin_ns = 0;  // of a synchronise whose end has not come; 0 = none
  };

  void add_process(const TableRow& row);
  void add_thread(const TableRow& row);
  void add_sync_half(const TableRow& row);
  void add_call(const TableRow& row, std::string_view type);
  void add_gap(const TableRow& row);
  void put(OwnThread& thread, const Record& record);
  void set_words(const TableRow& row, std::string_view type, Record& record);
  void set_wait(const TableRow& row, Record& record);
  OwnThread& thread_of(const TableRow& row);
  std::uint16_t hook_of(std::string_view type, const std::string& function);
  std::uint64_t site_of(const std::string& library);
  std::uint64_t number(const TableRow& row, Column column);
  std::uint64_t ticks(std::uint64_t ns) const;

  LeftOut& left_out_;
  FileHeader header_{};
  std::uint64_t start_ns_ = 0;
  std::uint64_t last_ns_ = 0;
  TraceWriter out_;
  std::map<std::uint64_t, OwnThread> threads_;
  std::map<std::pair<std::string, std::string>, std::uint16_t> hooks_;
  std::map<std::string, std::uint64_t> libraries_;  // where each begins
};

// What the line is about, where the table does not say it: by the name of its event.
std::string_view type_of_event(const std::string& event);

}  // namespace hostprobe::analysis
