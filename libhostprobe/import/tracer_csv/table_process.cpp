// table_process.cpp: see table_process.h.
#include "table_process.h"

#include <algorithm>
#include <charconv>

#include "import/kineto/profile_event.h"
#include "trace/hook_list.h"

namespace hostprobe::analysis {
namespace {

constexpr std::int64_t kFirstTicks = 1'000'000'000;  // 0 would be no time at all
constexpr std::uint64_t kMostTimeNs = std::uint64_t{1} << 62;
constexpr std::uint64_t kMostMissing = std::uint64_t{1} << 40;
constexpr std::int64_t kMostTicks = 4'000'000'000'000'000'000;  // what 64 bits hold, twice
constexpr std::size_t kPending = kPackedMost;
constexpr std::uint64_t kLibraryBytes = 1 << 24;
constexpr std::uint64_t kFirstLibrary = std::uint64_t{1} << 40;

HookShape shape_of(std::string_view type, const std::string& function) {
  HookShape shape{.name = function};
  if (type == row_type::kLaunch) {
    shape.launch = true;
    shape.labels = {"kernel:str", "grid:dim", "block:dim", "stream:hex", "shared_bytes"};
  } else if (type == row_type::kSync) {
    shape.blocking = true;
    shape.labels = {"", "", "", "stream:hex", ""};
  } else if (type == row_type::kWait) {
    shape.family = Family::kWait;
    shape.blocking = true;
    shape.labels = {"", "waker:post", "site:code", "", ""};
  } else {
    shape.family = Family::kNccl;
    shape.labels = {"comm:hex", "count", "call:nccl", "stream:hex", "place:ranks"};
  }
  return shape;
}

FileHeader header_of(const TableRow& row, const std::string& source) {
  FileHeader header{};
  header.source = kFromTable;
  header.rank = header.local_rank = header.world_size = -1;
  header.pid = static_cast<std::uint32_t>(whole_number(row[Column::kPid]).value_or(0));
  set_field(header.mode, "table");
  set_field(header.command, source);
  return header;
}

}  // namespace

std::string_view type_of_event(const std::string& event) {
  if (is_launch_name(event)) return row_type::kLaunch;
  if (is_sync_name(event)) return row_type::kSync;
  return {};
}

TableProcess::TableProcess(const std::string& run, const TableRow& row, const std::string& source, LeftOut& left_out)
    : left_out_(left_out), header_(header_of(row, source)), out_(run, header_) {
  start_ns_ = number(row, Column::kTime);
  last_ns_ = start_ns_;
  if (row[Column::kType] == row_type::kProcess) add_process(row);
}

void TableProcess::add_process(const TableRow& row) {
  const auto rank = [&](Column column) {
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(whole_number(row[column]).value_or(-1), -1, 1 << 24));
  };
  header_.rank = rank(Column::kRank);
  header_.world_size = rank(Column::kSize);
  header_.forked_from = row[Column::kFlags] == "forked" ? 1 : 0;
  header_.start.realtime_ns = number(row, Column::kRealtime);
  set_field(header_.host, row[Column::kHost]);
  set_field(header_.program, row[Column::kThreadName]);
  set_field(header_.command, row[Column::kEvent]);
  last_ns_ = std::max(last_ns_, start_ns_ + number(row, Column::kDuration));
}

// A tick is a nanosecond here.
std::uint64_t TableProcess::ticks(std::uint64_t ns) const {
  const std::int64_t since = std::clamp(static_cast<std::int64_t>(ns - start_ns_), 1 - kFirstTicks, kMostTicks);
  return static_cast<std::uint64_t>(kFirstTicks + since);
}

std::uint64_t TableProcess::number(const TableRow& row, Column column) {
  std::string_view text = row[column];
  if (text.empty()) return 0;
  std::uint64_t value = 0;
  const bool is_hex = text.starts_with("0x");
  if (is_hex) text.remove_prefix(2);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, is_hex ? 16 : 10);
  const bool is_time = column == Column::kTime || column == Column::kDuration || column == Column::kWake;
  if (error == std::errc() && end == text.data() + text.size() && (!is_time || value <= kMostTimeNs)) return value;
  left_out_.add("numbers that are none, taken for 0");
  return 0;
}

void TableProcess::add(const TableRow& row) {
  const std::string& event = row[Column::kEvent];
  std::string_view type = row[Column::kType];
  if (event == "syncEnter" || event == "syncExit") return add_sync_half(row);
  if (type.empty()) type = type_of_event(event);
  if (type == row_type::kProcess) return;
  if (type == row_type::kThread) return add_thread(row);
  if (type == row_type::kLost || type == row_type::kCounted) return add_gap(row);
  for (const std::string_view call : {row_type::kLaunch, row_type::kSync, row_type::kWait, row_type::kCollective})
    if (type == call) return add_call(row, call);
  left_out_.add("events '" + event.substr(0, 64) + "'");
}

TableProcess::OwnThread& TableProcess::thread_of(const TableRow& row) {
  const std::uint64_t tid = std::min<std::uint64_t>(number(row, Column::kTid), kStreamTid - 1);
  const auto [found, fresh] = threads_.try_emplace(tid);
  if (fresh) found->second.key = {static_cast<std::uint32_t>(tid), ticks(number(row, Column::kTime))};
  if (found->second.name.empty()) found->second.name = row[Column::kThreadName];
  return found->second;
}

// A thread whose id another one had before is one with it here.
void TableProcess::add_thread(const TableRow& row) {
  OwnThread& thread = thread_of(row);
  thread.role = row[Column::kRole];
  if (!row[Column::kDuration].empty())
    thread.end_ticks = ticks(number(row, Column::kTime) + number(row, Column::kDuration));
}

void TableProcess::add_sync_half(const TableRow& row) {
  OwnThread& thread = thread_of(row);
  const std::uint64_t ns = number(row, Column::kTime);
  last_ns_ = std::max(last_ns_, ns);
  if (row[Column::kEvent] == "syncEnter") {
    if (thread.sync_begin_ns != 0) left_out_.add("synchronisations without an end");
    thread.sync_begin_ns = ns + 1;
    return;
  }
  std::uint64_t begin_ns =
      thread.sync_begin_ns == 0 ? ns - std::min(ns, number(row, Column::kDuration)) : thread.sync_begin_ns - 1;
  if (thread.sync_begin_ns == 0 && row[Column::kDuration].empty()) {
    left_out_.add("synchronisations without a begin");
    return;
  }
  thread.sync_begin_ns = 0;
  Record record{};
  record.begin_ticks = ticks(std::min(begin_ns, ns));
  record.end_ticks = ticks(ns);
  record.hook = hook_of(row_type::kSync, "synchronize");
  put(thread, record);
}

void TableProcess::add_call(const TableRow& row, std::string_view type) {
  if (row[Column::kTime].empty()) return left_out_.add("events without a time");
  OwnThread& thread = thread_of(row);
  const std::uint64_t begin_ns = number(row, Column::kTime), end_ns = begin_ns + number(row, Column::kDuration);
  last_ns_ = std::max(last_ns_, end_ns);
  Record record{};
  record.begin_ticks = ticks(begin_ns);
  record.end_ticks = ticks(end_ns);
  record.hook = hook_of(type, row[Column::kEvent]);
  // A counter that counts it too is not in the table.
  record.flags = static_cast<std::uint16_t>(number(row, Column::kFlags) & ~std::uint64_t{kRecordAggregated});
  set_words(row, type, record);
  put(thread, record);
}

void TableProcess::set_words(const TableRow& row, std::string_view type, Record& record) {
  const auto small = [&](Column column) { return static_cast<std::uint32_t>(number(row, column)); };
  if (type == row_type::kWait) return set_wait(row, record);
  record.d = number(row, Column::kStream);
  if (type == row_type::kLaunch) {
    record.a = out_.add_string(row[Column::kKernel]);
    record.b = pack_dim(small(Column::kGridX), small(Column::kGridY), small(Column::kGridZ));
    record.c = pack_dim(small(Column::kBlockX), small(Column::kBlockY), small(Column::kBlockZ));
    record.e = number(row, Column::kSharedBytes);
  } else if (type == row_type::kCollective) {
    const auto rank = [&](Column column) {
      return static_cast<int>(std::clamp<std::int64_t>(whole_number(row[column]).value_or(-1), -1, (1 << 21) - 2));
    };
    const bool has_type = !row[Column::kDataType].empty();
    record.a = number(row, Column::kCommunicator);
    record.b = number(row, Column::kElements);
    record.c = pack_nccl_call(small(Column::kSequence), 0,
                              has_type ? static_cast<int>(small(Column::kDataType)) : kNcclNoType, kNcclNoOp);
    record.e = pack_nccl_ranks(rank(Column::kRank), rank(Column::kSize), rank(Column::kPeer));
  }
}

void TableProcess::set_wait(const TableRow& row, Record& record) {
  record.c = site_of(row[Column::kLibrary]);
  if (row[Column::kWake].empty()) return;
  const std::uint64_t wake_ticks = number(row, Column::kWake);
  const std::uint64_t post = record.end_ticks - std::min(wake_ticks, record.end_ticks - record.begin_ticks);
  record.b = pack_post(static_cast<std::uint32_t>(number(row, Column::kWaker)), post);
}

void TableProcess::add_gap(const TableRow& row) {
  OwnThread& thread = thread_of(row);
  out_.add_records(thread.key, thread.pending);
  thread.pending.clear();
  out_.skip_records(thread.key, std::min(number(row, Column::kCount), kMostMissing));
}

void TableProcess::put(OwnThread& thread, const Record& record) {
  thread.pending.push_back(record);
  thread.pending.back().lap = 1;
  if (thread.pending.size() < kPending) return;
  out_.add_records(thread.key, thread.pending);
  thread.pending.clear();
}

std::uint16_t TableProcess::hook_of(std::string_view type, const std::string& function) {
  const auto [found, fresh] = hooks_.try_emplace({std::string(type), function});
  if (fresh) found->second = out_.add_hook(shape_of(type, function));
  return found->second;
}

// An address inside a library that is nowhere: its name is all that a table knows.
std::uint64_t TableProcess::site_of(const std::string& library) {
  if (library.empty()) return 0;
  const auto [found, fresh] = libraries_.try_emplace(library, kFirstLibrary + (libraries_.size() + 1) * kLibraryBytes);
  const std::uint64_t begin = found->second;
  if (fresh) out_.add_module({begin, begin + kLibraryBytes, begin, 0, "/imported/" + library, ""});
  return begin + 8;
}

std::string TableProcess::finish() {
  for (auto& [tid, thread] : threads_) {
    out_.add_records(thread.key, thread.pending);
    if (thread.sync_begin_ns != 0) left_out_.add("synchronisations without an end");
    ThreadEntry entry{};
    entry.state = thread.end_ticks != 0 ? kThreadEnded : kThreadLive;
    entry.tid = thread.key.tid;
    entry.start_ticks = thread.key.start_ticks;
    entry.end_ticks = thread.end_ticks;
    entry.type_name = static_cast<std::uint32_t>(out_.add_string(thread.role));
    set_field(entry.name, thread.name);
    out_.add_thread(entry);
  }
  const std::uint64_t real = header_.start.realtime_ns != 0 ? header_.start.realtime_ns : start_ns_;
  const std::uint64_t shift = start_ns_ == 0 ? 1 : 0;  // a clock at 0 counts as never read
  const auto clocks = [&](std::uint64_t ns) { return ClockPair{ticks(ns), ns + shift, real + (ns - start_ns_)}; };
  header_.start = clocks(start_ns_);
  // At least a second, so that the rate is exact.
  header_.last = clocks(std::max(last_ns_, start_ns_ + 1));
  out_.set_header(header_);
  out_.add_clock(clocks(std::max(last_ns_, start_ns_) + 1'000'000'000));
  return out_.finish();
}

}  // namespace hostprobe::analysis
