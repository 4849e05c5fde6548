// answer_table.h: a table whose rows are parts of the answer, each column with where its value comes from.
//
// Room 3. What was not measured is an empty optional, and so a null. Texts come from other people's programs: what is no UTF-8
// in them is replaced as in documents of JSON.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "answer/histogram.h"
#include "batches.h"
#include "run.h"
#include "words/json_string.h"

namespace hostprobe::tables {

// ---- values, as a column takes them ----

template <typename T>
void put(const T& value, Column& column) {
  column.add(value);
}
inline void put(std::string_view text, Column& column) { column.add_text(analysis::valid_utf8(text)); }
inline void put(const std::string& text, Column& column) { put(std::string_view(text), column); }
inline void put(const char* text, Column& column) { put(std::string_view(text), column); }
template <typename T>
void put(const std::optional<T>& value, Column& column) {
  if (value)
    put(*value, column);
  else
    column.add_null();
}

// Nothing where nothing was counted.
inline std::optional<double> us_of(const analysis::Histogram& time, double ns) {
  return time.count() == 0 ? std::nullopt : std::optional(1e-3 * ns);
}
inline std::optional<double> ms_of(const analysis::Histogram& time, double ns) {
  return time.count() == 0 ? std::nullopt : std::optional(1e-6 * ns);
}
inline std::optional<double> percentile_us(const analysis::Histogram& time, double percent) {
  return us_of(time, time.percentile_ns(percent));
}
template <typename T>
std::optional<T> some_if(bool known, T value) {
  return known ? std::optional<T>(std::move(value)) : std::nullopt;
}

// ---- tables ----

template <typename Row>
struct AnswerColumn {
  ColumnName name;
  void (*fill)(const Row& row, Column& column);
};

// `get(row)` is its value.
template <typename Row, typename Get>
AnswerColumn<Row> column_of(std::string_view name, Type type, bool nullable, std::string_view meaning, Get) {
  return {{name, type, nullable, meaning}, [](const Row& row, Column& column) { put(Get{}(row), column); }};
}

// The columns of rows of one kind; nullable, as most are.
template <typename Row>
struct Columns {
  template <typename Get>
  static AnswerColumn<Row> real(std::string_view name, std::string_view meaning, Get get) {
    return column_of<Row>(name, Type::kReal, true, meaning, get);
  }
  template <typename Get>
  static AnswerColumn<Row> count(std::string_view name, std::string_view meaning, Get get) {
    return column_of<Row>(name, Type::kUint64, true, meaning, get);
  }
  template <typename Get>
  static AnswerColumn<Row> small(std::string_view name, std::string_view meaning, Get get) {
    return column_of<Row>(name, Type::kInt32, true, meaning, get);
  }
  template <typename Get>
  static AnswerColumn<Row> word(std::string_view name, std::string_view meaning, Get get) {
    return column_of<Row>(name, Type::kWord, true, meaning, get);
  }
  template <typename Get>
  static AnswerColumn<Row> text(std::string_view name, std::string_view meaning, Get get) {
    return column_of<Row>(name, Type::kText, true, meaning, get);
  }
};

template <typename Row>
struct AnswerTable {
  std::string_view name, meaning;
  std::vector<Row> (*rows)(const Run& run, const analysis::RunAnswer& answer);
  std::vector<AnswerColumn<Row>> columns;
};

template <typename Row>
class AnswerBatches : public Batches {
 public:
  AnswerBatches(std::shared_ptr<Run> run, const AnswerTable<Row>& table, const TableName& name,
                const std::vector<std::size_t>& columns)
      : run_(std::move(run)), rows_of_(table.rows), columns_(name, columns) {
    for (const std::size_t column : columns) fills_.push_back(table.columns[column].fill);
  }

  bool next(ArrowArray* out) override {
    if (answer_ == nullptr) {
      answer_ = run_->answer();
      rows_ = rows_of_(*run_, *answer_);
    }
    columns_.begin();
    for (; at_ < rows_.size() && !columns_.is_full(); ++at_) {
      for (std::size_t i = 0; i < fills_.size(); ++i) fills_[i](rows_[at_], columns_[i]);
      columns_.end_row();
    }
    return columns_.publish(out);
  }

 private:
  const std::shared_ptr<Run> run_;
  std::vector<Row> (*const rows_of_)(const Run&, const analysis::RunAnswer&);
  ColumnSet columns_;
  std::vector<void (*)(const Row&, Column&)> fills_;
  std::shared_ptr<const analysis::RunAnswer> answer_;  // rows point into it
  std::vector<Row> rows_;
  std::size_t at_ = 0;
};

template <typename Row>
Table table_of_answer(AnswerTable<Row> table) {
  Table made{{table.name, table.meaning, {}, false}};
  for (const AnswerColumn<Row>& column : table.columns) made.columns.push_back(column.name);
  const TableName name = made;
  made.open = [table = std::move(table), name](std::shared_ptr<Run> run, const std::vector<std::size_t>& columns,
                                               TraceRange) {
    return std::make_unique<AnswerBatches<Row>>(std::move(run), table, name, columns);
  };
  return made;
}

}  // namespace hostprobe::tables
