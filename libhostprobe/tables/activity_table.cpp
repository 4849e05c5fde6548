// activity_table.cpp: see activity_table.h.
#include "activity_table.h"

#include <cmath>

#include "run.h"
#include "trace/trace_head.h"
#include "words/words.h"

namespace hostprobe::tables {
namespace {

using analysis::Activity;
using analysis::ActivitySource;
using analysis::ActivityType;

struct ActivityRow {
  const OpenTrace& open;
  const analysis::DeviceTimeline& device;
  const Activity& activity;

  const analysis::DeviceStream& stream() const { return device.streams[activity.stream]; }
  std::int64_t moment_ns(double since_first_ns) const {
    return static_cast<std::int64_t>(open.trace.clock.monotonic_ns_of(since_first_ns)) + open.shift_ns;
  }
};

using Fill = void (*)(const ActivityRow& row, Column& column);

struct ActivityColumn {
  ColumnName name;
  Fill fill;
};

void put_rank(const ActivityRow& row, Column& column) {
  const int rank = row.open.trace.header.rank;
  if (rank < 0)
    column.add_null();
  else
    column.add(rank);
}

void put_host(const ActivityRow& row, Column& column) {
  const FileHeader& header = row.open.trace.header;
  column.add_word(0, [&] { return analysis::printable(analysis::host_of(header)); });
}

void put_type(const ActivityRow& row, Column& column) {
  const ActivityType type = row.activity.type;
  column.add_word(static_cast<std::uint64_t>(type), [type] {
    return type == ActivityType::kCopy ? "copy" : type == ActivityType::kFill ? "fill" : "kernel";
  });
}

void put_source(const ActivityRow& row, Column& column) {
  const analysis::ActivitySource source = row.device.source;
  column.add_word(static_cast<std::uint64_t>(source), [source] { return analysis::activity_source_name(source); });
}

void put_launch(const ActivityRow& row, Column& column) {
  if (row.activity.launch_tid == 0)
    column.add_null();
  else
    column.add(row.moment_ns(row.activity.launch_ns));
}

void put_error(const ActivityRow& row, Column& column) {
  if (row.device.source != ActivitySource::kEvents || row.activity.unknown)
    column.add_null();
  else
    column.add(static_cast<double>(row.activity.error_ns));
}

void put_correlation(const ActivityRow& row, Column& column) {
  if (row.activity.correlation == 0)
    column.add_null();
  else
    column.add(row.activity.correlation);
}

const std::vector<ActivityColumn>& activity_columns() {
  static const std::vector<ActivityColumn> kColumns{
      {{"rank", Type::kInt32, true, "of the job; null: the process has none"}, put_rank},
      {{"pid", Type::kInt32, false, "process whose work it is"},
       [](const ActivityRow& row, Column& column) { column.add(row.open.trace.header.pid); }},
      {{"host", Type::kWord, true, "its host's name"}, put_host},
      {{"device", Type::kUint32, false, "number of the GPU in the process"},
       [](const ActivityRow& row, Column& column) { column.add(row.stream().device); }},
      {{"stream", Type::kUint64, false, "number of the stream; no handle"},
       [](const ActivityRow& row, Column& column) { column.add(row.stream().id); }},
      {{"type", Type::kWord, false, "kernel, copy, fill"}, put_type},
      {{"name", Type::kWord, true, "of the kernel"},
       [](const ActivityRow& row, Column& column) {
         column.add_word(row.activity.name, [&] { return analysis::printable(row.device.names[row.activity.name]); });
       }},
      {{"begin_ns", Type::kInt64, false, "begin on the GPU, since the run began"},
       [](const ActivityRow& row, Column& column) { column.add(row.moment_ns(row.activity.begin_ns)); }},
      {{"duration_ns", Type::kInt64, false, "on the GPU"},
       [](const ActivityRow& row, Column& column) {
         column.add(static_cast<std::int64_t>(std::nearbyint(row.activity.end_ns - row.activity.begin_ns)));
       }},
      {{"collective", Type::kBool, false, "a kernel of NCCL: it waits for those of other ranks"},
       [](const ActivityRow& row, Column& column) { column.add(row.activity.collective); }},
      {{"bytes", Type::kUint64, false, "of a copy or fill"},
       [](const ActivityRow& row, Column& column) { column.add(row.activity.bytes); }},
      {{"launch_tid", Type::kInt32, true, "thread that launched it; null: not known"},
       [](const ActivityRow& row, Column& column) {
         if (row.activity.launch_tid == 0)
           column.add_null();
         else
           column.add(row.activity.launch_tid);
       }},
      {{"launch_begin_ns", Type::kInt64, true, "begin of the launch call, or a moment inside it, since the run began"},
       put_launch},
      {{"correlation", Type::kUint32, true, "of an imported profile"}, put_correlation},
      {{"source", Type::kWord, false,
        "profile: exactly; events: by timing events and replay; bounds: when it was not empty for certain"},
       put_source},
      {{"error_ns", Type::kReal, true, "by which its end may be wrong; null: it is exact, or not known at all"},
       put_error}};
  return kColumns;
}

class ActivityBatches : public Batches {
 public:
  ActivityBatches(std::shared_ptr<Run> run, const TableName& table, const std::vector<std::size_t>& columns,
                  TraceRange traces)
      : run_(std::move(run)), columns_(table, columns), traces_(traces) {
    for (const std::size_t column : columns) fills_.push_back(activity_columns()[column].fill);
  }

  bool next(ArrowArray* out) override {
    columns_.begin();
    while (!columns_.is_full()) {
      if (device_ != nullptr && at_ < device_->activities.size())
        add(device_->activities[at_++]);
      else if (!next_trace())
        break;
    }
    return columns_.publish(out);
  }

 private:
  bool next_trace() {
    device_.reset();
    open_.reset();
    at_ = 0;
    if (traces_.begin == traces_.end) return false;
    open_ = run_->trace(traces_.begin++);
    if (open_ != nullptr) device_ = run_->device_of(*open_);
    columns_.forget_keys();
    return true;
  }

  void add(const Activity& activity) {
    const ActivityRow row{*open_, *device_, activity};
    for (std::size_t i = 0; i < fills_.size(); ++i) fills_[i](row, columns_[i]);
    columns_.end_row();
  }

  const std::shared_ptr<Run> run_;
  ColumnSet columns_;
  std::vector<Fill> fills_;
  TraceRange traces_;  // that are left
  std::shared_ptr<const OpenTrace> open_;
  std::shared_ptr<const analysis::DeviceTimeline> device_;
  std::size_t at_ = 0;
};

}  // namespace

Table activity_table() {
  Table table{{"gpu_activities",
               "what ran on the GPU: kernels, copies, fills; exactly of imported profiles, else as timing events show",
               {},
               true}};
  for (const ActivityColumn& column : activity_columns()) table.columns.push_back(column.name);
  const TableName name = table;
  table.open = [name](std::shared_ptr<Run> run, const std::vector<std::size_t>& columns, TraceRange traces) {
    return std::make_unique<ActivityBatches>(std::move(run), name, columns, traces);
  };
  return table;
}

}  // namespace hostprobe::tables
