// csv.cpp: a run as a table of events (CSV): launches, synchronisations, waits and collectives, one a line.
//
// Room 3. Line by line, whatever the size of the run. Columns are those of tables/tracer_columns.h. Where calls
// are missing a line says how many.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "answer/file_name.h"
#include "export/exported_run.h"
#include "kernel_lines.h"
#include "model/ordered_records.h"
#include "model/wake.h"

namespace hostprobe::analysis {
namespace {

// Names that a cell of a table may not hold as they are.
std::string cell_text(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c == '\n' || c == '\r' ? ' ' : c;
  }
  return quoted + "\"";
}

void append_row(const TableRow& row, std::string& text) {
  for (std::size_t i = 0; i < kColumnCount; ++i) {
    if (i != 0) text += ',';
    if (!row.cells[i].empty()) text += cell_text(row.cells[i]);
  }
  text += '\n';
}

std::string_view type_of(const Function& function) {
  if (function.is(kLaunches)) return row_type::kLaunch;
  if (function.is(kSynchronises)) return row_type::kSync;
  if (function.is(kWaits) && !function.is(kPolls) && function.site >= 0) return row_type::kWait;
  if (function.is(kCollective)) return row_type::kCollective;
  return {};
}

std::string number(std::uint64_t value) { return fmt::to_string(value); }
std::string rounded(double ns) { return fmt::to_string(std::llround(ns)); }

class TraceTable {
 public:
  TraceTable(const Timeline& timeline, const Sink& sink)
      : timeline_(timeline), trace_(timeline.trace()), clock_(trace_.clock), sink_(sink) {}

  void write() {
    write_process();
    for (const Track& track : timeline_.tracks()) write_thread_line(track);
    for (const Track& track : timeline_.tracks()) write_thread(track);
    flush(0);
  }

 private:
  void begin_row(std::string_view type, std::string_view event, std::uint64_t ns) {
    row_.clear();
    row_[Column::kType] = type;
    row_[Column::kEvent] = event;
    row_[Column::kTime] = number(ns);
    row_[Column::kPid] = number(trace_.header.pid);
  }

  void write_process() {
    const FileHeader& header = trace_.header;
    const ClockPair& start = header.start.ticks != 0 ? header.start : header.first;
    const auto field = [](const char* text, std::size_t size) { return std::string(text, strnlen(text, size)); };
    begin_row(row_type::kProcess, field(header.command, sizeof(header.command)), clock_.monotonic_ns(start.ticks));
    row_[Column::kThreadName] = field(header.program, sizeof(header.program));
    row_[Column::kHost] = field(header.host, sizeof(header.host));
    row_[Column::kRank] = header.rank < 0 ? "" : fmt::to_string(header.rank);
    row_[Column::kSize] = header.world_size < 0 ? "" : fmt::to_string(header.world_size);
    row_[Column::kRealtime] =
        number(clock_.monotonic_ns(start.ticks) + static_cast<std::uint64_t>(clock_.realtime_offset_ns()));
    row_[Column::kDuration] = rounded(clock_.span_ns(start.ticks, trace_.last.ticks));
    row_[Column::kFlags] = header.forked_from != 0 ? "forked" : "";
    put_row();
  }

  void write_thread_line(const Track& track) {
    const Thread& thread = *track.thread;
    begin_row(row_type::kThread, "", clock_.monotonic_ns(thread.key.start_ticks));
    set_thread(track);
    row_[Column::kRole] = role_name(track.role);
    const std::uint64_t end = thread.entry.end_ticks;
    if (end != 0) row_[Column::kDuration] = rounded(clock_.span_ns(thread.key.start_ticks, end));
    put_row();
  }

  void set_thread(const Track& track) {
    row_[Column::kTid] = number(track.key().tid);
    row_[Column::kThreadName] = track.thread->name;
  }

  void write_thread(const Track& track) {
    counted_ = counted_calls(*track.thread);
    after_counted_ = false;
    OrderedRecords records(
        *track.thread, [&](const Record& record) { write_record(track, record); },
        [&](std::uint64_t count) { write_missing(track, row_type::kLost, count); },
        [&](std::uint64_t) { write_counted(track); });
    records.walk();
  }

  // Calls that the table would have but for their records, of which counters alone are left.
  std::uint64_t counted_calls(const Thread& thread) const {
    std::uint64_t calls = 0, still_there = 0;
    for (const auto& [key, sum] : thread.counters)
      if (is_exported(sum_hook(key.first))) calls += sum.time.count();
    for (const Slice& slice : thread.slices) {
      if (calls == 0 || slice.aggregated == 0) continue;
      for (const Record& record : slice.records()) still_there += is_aggregated(record) && is_exported(record.hook);
    }
    return calls - std::min(calls, still_there);
  }

  bool is_exported(std::uint16_t hook) const {
    const Function* function = function_of(hook);
    return function != nullptr && !type_of(*function).empty();
  }

  // All of them at the first gap, which is the oldest; at others it is only said that launches are missing.
  void write_counted(const Track& track) {
    if (counted_ != 0) write_missing(track, row_type::kCounted, counted_);
    after_counted_ = counted_ == 0;
    counted_ = 0;
  }

  void write_missing(const Track& track, std::string_view type, std::uint64_t count) {
    begin_row(type, "", last_ns_);
    set_thread(track);
    row_[Column::kCount] = number(count);
    put_row();
  }

  const Function* function_of(std::uint16_t hook) const {
    return hook == 0 || hook > timeline_.functions().size() ? nullptr : &timeline_.functions()[hook - 1u];
  }

  void write_record(const Track& track, const Record& record) {
    const Function* function = function_of(record.hook);
    const std::string_view type = function == nullptr ? std::string_view() : type_of(*function);
    if (type.empty()) return;
    last_ns_ = clock_.monotonic_ns(record.begin_ticks);
    begin_row(type, function->name, last_ns_);
    set_thread(track);
    row_[Column::kDuration] = rounded(clock_.span_ns(record.begin_ticks, record.end_ticks));
    const unsigned flags = record.flags | (after_counted_ ? kRecordAfterSkipped : 0u);
    row_[Column::kFlags] = flags == 0 ? "" : number(flags);
    after_counted_ = false;
    const Hook& hook = *trace_.hook_of(record);
    const int stream = hook.word_of("stream");
    if (stream >= 0) row_[Column::kStream] = fmt::format("{:#x}", word(record, stream));
    if (function->is(kLaunches)) set_launch(hook, record);
    if (function->is(kWaits)) set_wait(*function, record);
    if (function->is(kCollective)) set_collective(*function, record);
    put_row();
  }

  void set_launch(const Hook& hook, const Record& record) {
    const int kernel = hook.word_of("kernel"), grid = hook.word_of("grid"), block = hook.word_of("block");
    if (kernel >= 0) row_[Column::kKernel] = trace_.strings.text(word(record, kernel));
    const auto set = [&](int index, Column x, Column y, Column z) {
      const std::uint64_t dim = word(record, index);
      if (index < 0) return;
      row_[x] = number(dim & 0xffffffffu);
      row_[y] = number(dim >> 32 & 0xffffu);
      row_[z] = number(dim >> 48);
    };
    set(grid, Column::kGridX, Column::kGridY, Column::kGridZ);
    set(block, Column::kBlockX, Column::kBlockY, Column::kBlockZ);
    const int bytes = hook.word_of("shared_bytes");
    if (bytes >= 0) row_[Column::kSharedBytes] = number(word(record, bytes));
  }

  std::string library_of(std::uint64_t site, std::uint64_t ticks) const {
    const Module* module = trace_.module_at(site, ticks);
    return module == nullptr ? "" : base_name(module->path);
  }

  void set_wait(const Function& function, const Record& record) {
    row_[Column::kLibrary] = library_of(word(record, function.site), record.end_ticks);
    if (const auto wake = wake_of(function, record)) {
      row_[Column::kWake] = rounded(clock_.span_ns(wake->ticks, record.end_ticks));
      row_[Column::kWaker] = number(wake->tid);
    }
  }

  void set_collective(const Function& function, const Record& record) {
    const std::uint64_t call = word(record, function.call), ranks = word(record, function.ranks);
    row_[Column::kCommunicator] = fmt::format("{:#x}", word(record, function.communicator));
    row_[Column::kElements] = number(word(record, function.elements));
    row_[Column::kSequence] = number(call & 0xffffffffu);
    row_[Column::kDataType] = number(call >> 48 & 0xff);
    const auto part = [&](Column column, unsigned shift, int less) {
      const auto value = static_cast<int>(ranks >> shift & 0x1fffff);
      if (value != 0) row_[column] = fmt::to_string(value - less);
    };
    part(Column::kRank, 0, 1);
    part(Column::kSize, 21, 0);
    part(Column::kPeer, 42, 1);
  }

  void put_row() {
    append_row(row_, buffer_);
    flush(kFlushBytes);
  }

  void flush(std::size_t from_bytes) {
    if (buffer_.empty() || buffer_.size() < from_bytes) return;
    sink_(buffer_);
    buffer_.clear();
  }

  const Timeline& timeline_;
  const Trace& trace_;
  const TickClock& clock_;
  const Sink& sink_;
  TableRow row_;
  std::string buffer_;
  std::uint64_t last_ns_ = 0;
  std::uint64_t counted_ = 0;   // of this thread, not written yet
  bool after_counted_ = false;  // before the next record of it calls are missing
};

std::vector<std::string> write(const ExportRequest& request, const Sink& sink, const ExportProgress& progress) {
  std::string names;
  for (const TracerColumn& column : kTracerColumns) names += (names.empty() ? "" : ",") + std::string(column.name);
  sink(names + '\n');
  return visit_traces(
      request.run, [&sink](const Timeline& timeline) { TraceTable(timeline, sink).write(); },
      [&sink](const Trace& trace) {
        std::string buffer;
        write_kernel_lines(trace, [&](const TableRow& row) {
          append_row(row, buffer);
          if (buffer.size() < kFlushBytes) return;
          sink(buffer);
          buffer.clear();
        });
        sink(buffer);
      },
      progress);
}

}  // namespace

ExportForm csv_form() {
  return {"--csv", "A table of launches, synchronisations, waits and collectives", ExportKind::kWhole, write};
}

}  // namespace hostprobe::analysis
