// batches.h: the makers of rows, one for each kind of table.
//
// Room 5.
#pragma once

#include "record_row.h"
#include "table.h"

namespace hostprobe::tables {

std::unique_ptr<Batches> record_batches(std::shared_ptr<Run> run, const RecordTable& table,
                                        const std::vector<std::size_t>& columns, TraceRange traces);

TableName activity_table();
std::unique_ptr<Batches> activity_batches(std::shared_ptr<Run> run, const TableName& table,
                                          std::vector<std::size_t> columns, TraceRange traces);

// Those that are made of the answer.
std::vector<TableName> answer_tables();
std::unique_ptr<Batches> answer_batches(std::shared_ptr<Run> run, const TableName& table,
                                        std::vector<std::size_t> columns);

// Columns for a batch, and what is common to all makers.
class ColumnSet {
 public:
  ColumnSet(const TableName& table, const std::vector<std::size_t>& columns);

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
  bool publish(ArrowArray* out);

 private:
  std::vector<Column> columns_;
  std::size_t rows_ = 0;  // no column need be asked for
};

}  // namespace hostprobe::tables
