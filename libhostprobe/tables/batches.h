// batches.h: rows of a table in batches, and a table as what can be opened.
//
// Room 3.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "column.h"

namespace hostprobe::tables {

class Run;

// Some traces of a run, by their place in it.
struct TraceRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// Rows in batches, one after the other. May be asked by any thread, by one at a time.
class Batches {
 public:
  virtual ~Batches() = default;
  // False: there are no more.
  virtual bool next(ArrowArray* out) = 0;
};

struct Table : TableName {
  // Its rows, with the columns at these places of its definition.
  std::function<std::unique_ptr<Batches>(std::shared_ptr<Run> run, const std::vector<std::size_t>& columns,
                                         TraceRange traces)>
      open = {};
};

// Columns for a batch, and what is common to all makers.
class ColumnSet {
 public:
  ColumnSet(const TableName& table, const std::vector<std::size_t>& columns) {
    columns_.reserve(columns.size());
    for (const std::size_t column : columns) columns_.emplace_back(table.columns[column]);
  }

  void begin() {
    for (Column& column : columns_) column.begin();
    rows_ = 0;
  }
  void forget_keys() {
    for (Column& column : columns_) column.forget_keys();
  }
  Column& operator[](std::size_t place) { return columns_[place]; }
  void end_row() { ++rows_; }
  bool is_full() const { return rows_ == kBatchRows; }
  // False: there are no rows, and nothing is made.
  bool publish(ArrowArray* out) {
    if (rows_ == 0) return false;
    publish_batch(columns_, static_cast<std::int64_t>(rows_), out);
    return true;
  }

 private:
  std::vector<Column> columns_;
  std::size_t rows_ = 0;  // no column need be asked for
};

}  // namespace hostprobe::tables
