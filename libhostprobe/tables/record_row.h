// record_row.h: one record of a trace and what its columns need beside it.
//
// Room 3.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "batches.h"
#include "record_arguments.h"
#include "run.h"

namespace hostprobe::tables {

// Where the words of a function's records are; -1 = it has none of that name.
struct Words {
  explicit Words(const analysis::Hook& hook);
  int stream, kernel, graph, nodes, kernels, grid, block, shared_bytes, site, name, category, value, bytes;
};

// Of one trace, while its rows are made.
struct TraceRows {
  TraceRows(std::shared_ptr<const OpenTrace> open, analysis::Symbols& symbols);

  const analysis::Trace& trace() const { return open->trace; }

  std::shared_ptr<const OpenTrace> open;
  analysis::Symbols& symbols;
  std::string host;
  std::vector<Words> words;  // by row of the hook table
  analysis::ThreadRoles roles;
  analysis::RecordArguments arguments;
};

struct RecordRow {
  TraceRows& of;
  const analysis::Track& track;
  const Record& record;
  const analysis::Function* function;  // null: a row that the hook table lacks
  const Words* words;
  std::int64_t begin_ns;  // since the run began
  std::int64_t duration_ns;

  std::uint64_t word(int index) const { return analysis::word(record, index); }
  bool has(std::uint16_t flag) const { return (record.flags & flag) != 0; }
};

using FillColumn = void (*)(const RecordRow& row, Column& column);

struct RecordColumn {
  ColumnName name;
  FillColumn fill;
};

// A table of which each row is a record.
struct RecordTable {
  std::string_view name;
  std::string_view meaning;
  bool (*takes)(const analysis::Function& function);
  bool takes_unknown = false;  // and rows that the hook table lacks
  std::vector<RecordColumn> columns;
};

}  // namespace hostprobe::tables
