// process_trace.cpp: see process_trace.h.
#include "process_trace.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "trace/hook_list.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kRecordsAtOnce = 4 * kPackedMost;  // blocks that are as long as can be

// Number of `rank` in "[0, 2, 4]"; -1 where it is not in it, or the list is not whole.
int place_in(const std::string& ranks, int size, const std::string& rank) {
  int count = 0, place = -1;
  std::size_t at = ranks.find_first_of("0123456789");
  while (at != std::string::npos) {
    const std::size_t end = std::min(ranks.find_first_not_of("0123456789", at), ranks.size());
    if (std::string_view(ranks).substr(at, end - at) == rank) place = count;
    ++count;
    at = ranks.find_first_of("0123456789", end);
  }
  return count == size ? place : -1;
}

// What is worked out once for each of some small numbers.
template <typename Value>
class Memo {
 public:
  template <typename Make>
  const Value& of(std::uint32_t number, Make make) {
    if (number >= values_.size()) values_.resize(number + 1);
    std::optional<Value>& own = values_[number];
    if (!own) own = make();
    return *own;
  }

 private:
  std::vector<std::optional<Value>> values_;
};

class ProcessTrace {
 public:
  ProcessTrace(const TracedProcess& traced, const std::vector<ProfileActivity>& activities,
               const std::vector<ActivityCause>& causes, TraceWriter& out)
      : profile_(traced.profile),
        process_(traced.process),
        rank_(traced.rank),
        base_ns_(traced.base_ns),
        activities_(activities),
        causes_(causes),
        out_(out),
        threads_(traced.process.threads.size()),
        first_activity_(traced.process.calls.size(), kNoCall) {
    for (std::uint32_t i = 0; i < activities.size(); ++i)
      if (causes[i].process == traced.number) add_activity(i);
    for (std::uint32_t i = 0; i < process_.calls.size(); ++i) add(threads_[process_.calls[i].thread], Source::kCall, i);
    for (std::uint32_t i = 0; i < process_.ranges.size(); ++i)
      add(threads_[process_.ranges[i].thread], Source::kRange, i);
    add_steps();
    add_collectives();
  }

  void write() {
    for (std::size_t i = 0; i < threads_.size(); ++i)
      write_thread(process_.threads[i].tid, process_.threads[i].name, threads_[i]);
    std::uint32_t number = 0;
    for (auto& [stream, rows] : streams_)
      write_thread(kStreamTid + number++, "stream " + std::to_string(stream & 0xffffffffu), rows);
  }

 private:
  enum class Source : std::uint8_t { kActivity, kCall, kRange, kMade };

  // What a record is made of, a quarter of its length.
  struct Row {
    std::int64_t begin_ns = 0;
    std::uint32_t index = 0;
    Source source = Source::kMade;
  };
  using Rows = std::vector<Row>;

  // Makes the record once now, so that names and rows of the table have the order in which they were met.
  void add(Rows& rows, Source source, std::uint32_t index) {
    const Row row{0, index, source};
    rows.push_back({static_cast<std::int64_t>(record_at(row).begin_ticks), index, source});
  }

  Record record_at(const Row& row) {
    if (row.source == Source::kActivity) return activity_record(row.index);
    if (row.source == Source::kCall) return call_record(row.index);
    return row.source == Source::kRange ? range_record(process_.ranges[row.index]) : made_[row.index];
  }

  void add_made(std::uint32_t thread, const Record& record) {
    made_.push_back(record);
    add(threads_[thread], Source::kMade, static_cast<std::uint32_t>(made_.size() - 1));
  }

  void add_activity(std::uint32_t index) {
    const ProfileActivity& activity = activities_[index];
    const std::uint32_t call = causes_[index].call;
    if (call != kNoCall && first_activity_[call] == kNoCall) first_activity_[call] = index;
    add(streams_[pack_pair(activity.device, activity.stream)], Source::kActivity, index);
  }

  Record record_of(const ProfileSpan& span, std::uint16_t hook) const {
    Record record{};
    record.begin_ticks = ticks(span.begin_ns);
    record.end_ticks = ticks(span.begin_ns + span.duration_ns);
    record.hook = hook;
    record.lap = 1;
    return record;
  }

  std::uint64_t ticks(std::int64_t ns) const { return static_cast<std::uint64_t>(base_ns_ + ns); }
  std::uint64_t text(std::uint32_t name) {
    return texts_.of(name, [&] { return out_.add_string(profile_.name(name)); });
  }

  // One row for each name, made when it is met first.
  std::uint16_t row(const HookShape& shape) {
    const auto [found, fresh] = rows_.try_emplace(std::pair(static_cast<int>(shape.type), shape.name));
    if (fresh) found->second = out_.add_hook(shape);
    return found->second;
  }

  struct CallRow {
    std::uint16_t number = 0;
    bool launches = false, one_kernel = false;
  };
  CallRow wait_row(const std::string& name) {
    return {row({.name = name,
                 .family = Family::kWait,
                 .labels = {"", "waker:post", "site:code", "", ""},
                 .blocking = true}),
            false, false};
  }
  CallRow call_row(const std::string& name, bool is_wait) {
    if (is_wait) return wait_row(name);
    HookShape shape{.name = name, .family = Family::kCuda};
    shape.launch = is_launch_name(name);
    shape.blocking = is_sync_name(name);
    if (shape.launch)
      shape.labels = {"kernel:str", "grid:dim", "block:dim", "stream:hex", "shared_bytes"};
    else
      shape.labels = {"bytes", "", "", "stream:hex", "correlation"};
    return {row(shape), shape.launch, is_kernel_launch_name(name)};
  }

  std::uint16_t activity_row(RowType type) {
    static constexpr const char* kNames[] = {"", "kernel", "memcpy", "memset"};
    return row({.name = kNames[type],
                .family = Family::kGpu,
                .type = type,
                .labels = {"name:str", "stream", "launch", "bytes", "call"}});
  }

  std::uint16_t range_row(const std::string& category) {
    return row({.name = category, .family = Family::kRange, .type = kRowRange, .labels = {"name:str", "category:str"}});
  }

  Record call_record(std::uint32_t index) {
    const ProfileCall& call = process_.calls[index];
    const CallRow& own =
        call_rows_.of(call.span.name, [&] { return call_row(profile_.name(call.span.name), call.is_wait); });
    Record record = record_of(call.span, own.number);
    if (call.is_wait) return record;
    const std::uint32_t first = first_activity_[index];
    const ProfileActivity* caused = first == kNoCall ? nullptr : &activities_[first];
    if (own.launches) {
      if (caused != nullptr) set_launch(*caused, own.one_kernel, record);
    } else {
      record.a = caused == nullptr ? 0 : caused->bytes;
      record.d = caused == nullptr ? 0 : caused->stream;
      record.e = call.correlation;
    }
    return record;
  }

  // A graph has many kernels: no one of them speaks for the launch.
  void set_launch(const ProfileActivity& kernel, bool is_one_kernel, Record& record) {
    record.d = kernel.stream;
    if (!is_one_kernel) return;
    record.a = text(kernel.span.name);
    record.b = kernel.grid;
    record.c = kernel.block;
    record.e = kernel.shared_bytes;
  }

  Record activity_record(std::uint32_t index) {
    const ProfileActivity& activity = activities_[index];
    const std::uint32_t call = causes_[index].call;
    Record record =
        record_of(activity.span, activity_rows_.of(activity.type, [&] { return activity_row(activity.type); }));
    record.a = text(activity.span.name);
    record.b = pack_pair(activity.device, activity.stream);
    record.c = call == kNoCall ? 0 : ticks(process_.calls[call].span.begin_ns);
    record.d = activity.bytes;
    record.e = pack_pair(static_cast<std::uint32_t>(activity.correlation),
                         call == kNoCall ? 0 : process_.threads[process_.calls[call].thread].tid);
    return record;
  }

  Record range_record(const ProfileRange& range) {
    Record record =
        record_of(range.span, range_rows_.of(range.category, [&] { return range_row(profile_.name(range.category)); }));
    record.a = text(range.span.name);
    record.b = text(range.category);
    return record;
  }

  void add_steps() {
    for (const ProfileStep& step : process_.steps) {
      const std::uint16_t hook =
          row({.name = "ProfilerStep", .family = Family::kRange, .type = kRowStep, .labels = {"number"}});
      Record record = record_of(step.span, hook);
      record.a = step.number;
      add_made(step.thread, record);
    }
  }

  // Where a profile does not number the operations, its ranks have only their steps in common: operations are counted from
  // the first step on, and meet those of ranks whose profile begins with the same one.
  void add_collectives() {
    const ProfileStep* first = nullptr;
    for (const ProfileStep& step : process_.steps)
      if (first == nullptr || step.span.begin_ns < first->span.begin_ns) first = &step;
    std::vector<ProfileCollective> calls = process_.collectives.empty() ? process_.annotated : process_.collectives;
    std::stable_sort(calls.begin(), calls.end(), [](const ProfileCollective& l, const ProfileCollective& r) {
      return l.span.begin_ns < r.span.begin_ns;
    });
    std::map<std::uint64_t, std::uint32_t> counted;
    for (ProfileCollective& call : calls) {
      const bool is_numbered = call.sequence != 0;
      const bool in_step = first != nullptr && call.span.begin_ns >= first->span.begin_ns;
      if (!is_numbered) call.sequence = ++counted[in_step ? call.communicator : ~call.communicator];
      if (!is_numbered && in_step && call.communicator != 0)
        call.communicator ^= (first->number + 1) * 0x9e3779b97f4a7c15;
      add_collective(call, is_numbered || in_step);
    }
  }

  void add_collective(const ProfileCollective& call, bool can_be_joined) {
    const std::uint16_t hook = row({.name = profile_.name(call.span.name),
                                    .family = Family::kNccl,
                                    .labels = {"comm:hex", "count", "call:nccl", "", "place:ranks"}});
    const int listed = place_in(profile_.name(call.group), call.size, rank_);
    Record record = record_of(call.span, hook);
    record.flags = can_be_joined ? 0 : kRecordRelative;
    record.a = call.communicator;
    record.b = call.elements;
    record.c = pack_nccl_call(call.sequence, 0, call.type, kNcclNoOp);
    record.e = pack_nccl_ranks(listed >= 0 ? listed : call.rank, call.size, call.peer);
    add_made(call.thread, record);
  }

  void sort_rows(Rows& rows) {
    std::stable_sort(rows.begin(), rows.end(), [this](const Row& l, const Row& r) {
      return l.begin_ns != r.begin_ns ? l.begin_ns < r.begin_ns : end_of(l) > end_of(r);
    });
  }
  std::uint64_t end_of(const Row& row) const {
    if (row.source == Source::kMade) return made_[row.index].end_ticks;
    const ProfileSpan& span = row.source == Source::kActivity ? activities_[row.index].span
                              : row.source == Source::kCall   ? process_.calls[row.index].span
                                                              : process_.ranges[row.index].span;
    return ticks(span.begin_ns + span.duration_ns);
  }

  void write_thread(std::uint32_t tid, const std::string& name, Rows& rows) {
    sort_rows(rows);
    ThreadEntry entry{};
    entry.state = kThreadEnded;
    entry.tid = tid;
    for (const Row& row : rows) entry.end_ticks = std::max(entry.end_ticks, end_of(row));
    entry.start_ticks = rows.empty() ? ticks(0) : static_cast<std::uint64_t>(rows.front().begin_ns);
    set_field(entry.name, name);
    std::vector<Record> records;
    std::size_t made = 0;
    do {
      records.clear();
      for (; made < rows.size() && records.size() < kRecordsAtOnce; ++made) records.push_back(record_at(rows[made]));
      out_.add_records({tid, entry.start_ticks}, records);
    } while (made < rows.size());
    out_.add_thread(entry);
    rows = {};
  }

  const Profile& profile_;
  const ProfileProcess& process_;
  const std::string& rank_;
  const std::int64_t base_ns_;
  const std::vector<ProfileActivity>& activities_;
  const std::vector<ActivityCause>& causes_;
  TraceWriter& out_;
  std::map<std::pair<int, std::string>, std::uint16_t> rows_;
  Memo<std::uint64_t> texts_;  // by name, as the next two
  Memo<CallRow> call_rows_;
  Memo<std::uint16_t> range_rows_;
  Memo<std::uint16_t> activity_rows_;  // by type
  std::vector<Rows> threads_;
  std::map<std::uint64_t, Rows> streams_;      // by device and stream
  std::vector<std::uint32_t> first_activity_;  // by call
  std::vector<Record> made_;                   // steps and collectives
};

}  // namespace

void write_process(const TracedProcess& traced, const std::vector<ProfileActivity>& activities,
                   const std::vector<ActivityCause>& causes, TraceWriter& out) {
  ProcessTrace(traced, activities, causes, out).write();
}

}  // namespace hostprobe::analysis
