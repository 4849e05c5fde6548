// call_trace.cpp: see call_trace.h.
#include "call_trace.h"

#include <algorithm>

#include "reading_events.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostStacks = 65'000;  // a record has 16 bits for it
constexpr std::size_t kRecordsAtOnce = 4 * kPackedMost;

FileHeader header_of(const TracedOrigin& origin) {
  FileHeader header{};
  header.source = origin.source;
  header.state = origin.is_open ? kFileOpen : kFileClosed;
  header.pid = origin.pid;
  header.rank = origin.rank;
  header.local_rank = -1;
  header.world_size = origin.world_size;
  set_field(header.mode, origin.mode);
  set_field(header.host, origin.host);
  set_field(header.program, origin.program);
  set_field(header.command, origin.command);
  return header;
}

}  // namespace

CallTrace::CallTrace(const std::string& run, const TracedOrigin& origin)
    : origin_(origin), out_(run, header_of(origin)) {}

std::uint16_t CallTrace::hook(const HookShape& shape) {
  const auto [found, fresh] = hooks_.try_emplace(std::pair(static_cast<int>(shape.type), shape.name));
  if (fresh) found->second = out_.add_hook(shape);
  return found->second;
}

std::uint16_t CallTrace::stack(const std::vector<std::string>& frames) {
  if (frames.empty()) return 0;
  if (const auto found = stacks_.find(frames); found != stacks_.end()) return found->second;
  if (stacks_.size() >= kMostStacks) return 0;
  StackEntry entry{};
  entry.ready = 1;
  entry.key = stacks_.size() + 1;
  for (const std::string& frame : frames)
    if (entry.python_count < kStackPythonFrames)
      entry.python[entry.python_count++] = static_cast<std::uint32_t>(text(frame));
  out_.add_stack(entry);
  return stacks_.emplace(frames, static_cast<std::uint16_t>(stacks_.size() + 1)).first->second;
}

void CallTrace::lived(std::int64_t ns) {
  first_ns_ = first_ns_ == 0 ? ns : std::min(first_ns_, ns);
  last_ns_ = std::max(last_ns_, ns);
}

void CallTrace::add(const TimedCall& call) {
  lived(call.begin_ns);
  lived(std::max(call.begin_ns, call.end_ns));
  threads_[call.tid].calls.push_back(call);
  ++count_;
}

// A tick is a nanosecond of the day.
std::uint64_t CallTrace::ticks(std::int64_t ns) const {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 1));
}

Record CallTrace::record_of(const TimedCall& call) const {
  Record record{};
  record.begin_ticks = ticks(call.begin_ns);
  record.end_ticks = ticks(std::max(call.begin_ns, call.end_ns));
  record.hook = call.hook;
  record.flags = call.flags;
  record.stack = call.stack;
  record.lap = 1;
  record.a = call.a;
  record.b = call.b;
  record.c = call.c;
  record.d = call.d;
  record.e = call.e;
  return record;
}

void CallTrace::write_thread(std::uint32_t tid, OwnThread& thread) {
  std::stable_sort(thread.calls.begin(), thread.calls.end(), [](const TimedCall& l, const TimedCall& r) {
    return l.begin_ns != r.begin_ns ? l.begin_ns < r.begin_ns : l.end_ns > r.end_ns;
  });
  ThreadEntry entry{};
  entry.state = kThreadEnded;
  entry.tid = tid;
  entry.start_ticks = ticks(thread.calls.empty() ? first_ns_ : thread.calls.front().begin_ns);
  entry.end_ticks = ticks(last_ns_);
  set_field(entry.name, thread.name);
  std::vector<Record> records;
  std::size_t made = 0;
  do {
    records.clear();
    for (; made < thread.calls.size() && records.size() < kRecordsAtOnce; ++made)
      records.push_back(record_of(thread.calls[made]));
    out_.add_records({tid, entry.start_ticks}, records);
  } while (made < thread.calls.size());
  out_.add_thread(entry);
  thread.calls = {};
}

void CallTrace::add_missing(const LeftOut& left_out, const std::string& problem, std::uint64_t read_bytes,
                            std::uint64_t all_bytes) {
  EventRow row{};
  row.ticks = ticks(last_ns_);
  if (origin_.is_rank_guessed) {
    row.kind = kEventGuessed;
    row.number = kGuessedRank;
    set_field(row.text, origin_.note);
    out_.add_event(row);
  }
  add_reading_events(left_out, problem, read_bytes, all_bytes, ticks(last_ns_), out_);
}

std::string CallTrace::finish(const LeftOut& left_out, const std::string& problem, std::uint64_t read_bytes,
                              std::uint64_t all_bytes) {
  for (auto& [tid, thread] : threads_) write_thread(tid, thread);
  add_missing(left_out, problem, read_bytes, all_bytes);
  const auto clocks = [this](std::int64_t ns) { return ClockPair{ticks(ns), ticks(ns), ticks(ns)}; };
  FileHeader header = header_of(origin_);
  header.start = clocks(first_ns_);
  header.last = clocks(std::max(last_ns_, first_ns_ + 1));
  out_.set_header(header);
  return out_.finish();
}

}  // namespace hostprobe::analysis
