// record_batches.cpp: see record_batches.h.
#include "record_batches.h"

#include <fmt/format.h>

#include <cmath>

#include "record_cursor.h"
#include "record_tables.h"

namespace hostprobe::tables {
namespace {

TableName name_of(const RecordTable& table) {
  TableName name{table.name, table.meaning, {}, true};
  for (const RecordColumn& column : table.columns) name.columns.push_back(column.name);
  return name;
}

class RecordBatches : public Batches {
 public:
  RecordBatches(std::shared_ptr<Run> run, const RecordTable& table, const std::vector<std::size_t>& columns,
                TraceRange traces)
      : run_(std::move(run)), table_(table), columns_(name_of(table), columns), traces_(traces) {
    for (const std::size_t column : columns) fills_.push_back(table.columns[column].fill);
  }

  bool next(ArrowArray* out) override {
    columns_.begin();
    while (!columns_.is_full() && add_row()) {
    }
    return columns_.publish(out);
  }

 private:
  // False: there are no more.
  bool add_row() {
    while (true) {
      const Record* record = cursor_ ? next_record() : nullptr;
      if (record != nullptr) {
        add(*record);
        return true;
      }
      if (!next_thread()) return false;
    }
  }

  const Record* next_record() {
    try {
      return cursor_->next();
    } catch (const analysis::TraceError& error) {  // somebody changed the file since it was read
      run_->note(fmt::format("{}: offset {}: {}", rows_->trace().path, error.offset, error.what()));
      return nullptr;
    }
  }

  bool next_thread() {
    cursor_.reset();
    while (rows_ == nullptr || track_ == rows_->open->timeline.tracks().size())
      if (!next_trace()) return false;
    cursor_.emplace(*rows_->open->timeline.tracks()[track_++].thread, wanted_);
    return true;
  }

  // The one before is released first, so that only one is held.
  bool next_trace() {
    ticks_.reset();
    rows_.reset();
    track_ = 0;
    if (traces_.begin == traces_.end) return false;
    std::shared_ptr<const OpenTrace> open = run_->trace(traces_.begin++);
    if (open == nullptr) return next_trace();
    rows_ = std::make_unique<TraceRows>(std::move(open), run_->symbols());
    ticks_.emplace(rows_->trace().clock);
    columns_.forget_keys();
    wanted_.assign(1, false);  // hook 0 is no row
    for (const analysis::Function& function : rows_->open->timeline.functions())
      wanted_.push_back(table_of(function) == &table_);
    wanted_.push_back(table_.takes_unknown);
    return true;
  }

  void add(const Record& record) {
    const analysis::Timeline& timeline = rows_->open->timeline;
    const bool known = rows_->trace().hook_of(record) != nullptr;
    const double begin = ticks_->since_first_ns(record.begin_ticks);
    const RecordRow row{
        .of = *rows_,
        .track = timeline.tracks()[track_ - 1],
        .record = record,
        .function = known ? &timeline.functions()[record.hook - 1u] : nullptr,
        .words = known ? &rows_->words[record.hook - 1u] : nullptr,
        .begin_ns = static_cast<std::int64_t>(rows_->trace().clock.monotonic_ns_of(begin)) + rows_->open->shift_ns,
        .duration_ns = static_cast<std::int64_t>(std::nearbyint(ticks_->since_first_ns(record.end_ticks) - begin))};
    for (std::size_t i = 0; i < fills_.size(); ++i) fills_[i](row, columns_[i]);
    columns_.end_row();
  }

  const std::shared_ptr<Run> run_;
  const RecordTable& table_;
  ColumnSet columns_;
  std::vector<FillColumn> fills_;
  TraceRange traces_;  // that are left
  std::unique_ptr<TraceRows> rows_;
  std::optional<analysis::TickReader> ticks_;
  std::size_t track_ = 0;  // behind the one that is read
  WantedHooks wanted_;
  std::optional<RecordCursor> cursor_;
};

}  // namespace

Table table_of_records(const RecordTable& table) {
  Table made{name_of(table)};
  made.open = [&table](std::shared_ptr<Run> run, const std::vector<std::size_t>& columns, TraceRange traces) {
    return std::make_unique<RecordBatches>(std::move(run), table, columns, traces);
  };
  return made;
}

}  // namespace hostprobe::tables
