// profile_trace.cpp: see profile_trace.h.
#include "profile_trace.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "format/imported.h"
#include "trace/hook_list.h"
#include "trace/trace_writer.h"

namespace hostprobe::analysis {
namespace {

constexpr std::int64_t kLongestNs = std::int64_t{366} * 24 * 3600 * 1'000'000'000;
constexpr std::uint32_t kNone = UINT32_MAX;

// Which call a correlation id names, in which process: ids of several ranks in one file clash, and some wrap.
struct CallPlace {
  std::uint32_t correlation = 0;
  std::int64_t begin_ns = 0;
  std::uint32_t process = 0;
  std::uint32_t call = 0;
};

// Where in a process an activity belongs, and what called for it.
struct Cause {
  std::uint32_t process = 0;
  std::uint32_t call = kNone;
};

class Causes {
 public:
  explicit Causes(const std::vector<ProfileProcess*>& processes) {
    std::size_t most = 0;
    for (std::uint32_t p = 0; p < processes.size(); ++p) {
      const std::vector<ProfileCall>& calls = processes[p]->calls;
      if (calls.size() > most) fallback_ = p;
      most = std::max(most, calls.size());
      for (std::uint32_t c = 0; c < calls.size(); ++c)
        if (calls[c].correlation != 0) places_.push_back({calls[c].correlation, calls[c].span.begin_ns, p, c});
    }
    std::sort(places_.begin(), places_.end(), is_before);
  }

  // Of several calls of that number the last one that began before.
  Cause of(const ProfileActivity& activity) const {
    const CallPlace wanted{activity.correlation, activity.span.begin_ns, kNone, 0};
    auto found = std::upper_bound(places_.begin(), places_.end(), wanted, is_before);
    if (found != places_.begin() && std::prev(found)->correlation == activity.correlation) --found;
    if (activity.correlation == 0 || found == places_.end() || found->correlation != activity.correlation)
      return {fallback_, kNone};
    return {found->process, found->call};
  }

 private:
  static bool is_before(const CallPlace& l, const CallPlace& r) {
    return std::tie(l.correlation, l.begin_ns, l.process) < std::tie(r.correlation, r.begin_ns, r.process);
  }

  std::vector<CallPlace> places_;
  std::uint32_t fallback_ = 0;
};

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

// One process's file.
class ProcessTrace {
 public:
  ProcessTrace(const Profile& profile, const ProfileProcess& process, const ProfileHead& head, std::int64_t base_ns,
               TraceWriter& out)
      : profile_(profile), process_(process), head_(head), base_ns_(base_ns), out_(out) {
    std::vector<std::size_t> records(process.threads.size());
    for (const ProfileCall& call : process.calls) ++records[call.thread];
    for (const ProfileRange& range : process.ranges) ++records[range.thread];
    threads_.resize(records.size());
    for (std::size_t i = 0; i < records.size(); ++i) threads_[i].reserve(records[i]);
    first_activity_.assign(process.calls.size(), kNone);
  }

  void write(const std::vector<ProfileActivity>& activities, const std::vector<Cause>& causes, std::uint32_t own) {
    for (std::uint32_t i = 0; i < activities.size(); ++i) {
      if (causes[i].process != own) continue;
      const std::uint32_t call = causes[i].call;
      if (call != kNone && first_activity_[call] == kNone) first_activity_[call] = i;
      add_activity(activities[i], call);
    }
    add_calls(activities);
    add_ranges();
    add_steps();
    add_collectives();
    for (std::size_t i = 0; i < threads_.size(); ++i)
      write_thread(process_.threads[i].tid, process_.threads[i].name, threads_[i]);
    std::uint32_t number = 0;
    for (auto& [stream, records] : streams_)
      write_thread(kStreamTid + number++, "stream " + std::to_string(stream & 0xffffffffu), records);
  }

 private:
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
  CallRow call_row(const std::string& name) {
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

  void add_calls(const std::vector<ProfileActivity>& activities) {
    for (std::size_t i = 0; i < process_.calls.size(); ++i) {
      const ProfileCall& call = process_.calls[i];
      const CallRow& own = call_rows_.of(call.span.name, [&] { return call_row(profile_.name(call.span.name)); });
      Record record = record_of(call.span, own.number);
      const ProfileActivity* caused = first_activity_[i] == kNone ? nullptr : &activities[first_activity_[i]];
      if (own.launches) {
        if (caused != nullptr) set_launch(*caused, own.one_kernel, record);
      } else {
        record.a = caused == nullptr ? 0 : caused->bytes;
        record.d = caused == nullptr ? 0 : caused->stream;
        record.e = call.correlation;
      }
      threads_[call.thread].push_back(record);
    }
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

  void add_activity(const ProfileActivity& activity, std::uint32_t call) {
    Record record =
        record_of(activity.span, activity_rows_.of(activity.type, [&] { return activity_row(activity.type); }));
    const std::uint64_t stream = pack_pair(activity.device, activity.stream);
    record.a = text(activity.span.name);
    record.b = stream;
    record.c = call == kNone ? 0 : ticks(process_.calls[call].span.begin_ns);
    record.d = activity.bytes;
    record.e = pack_pair(activity.correlation, call == kNone ? 0 : process_.threads[process_.calls[call].thread].tid);
    streams_[stream].push_back(record);
  }

  void add_ranges() {
    for (const ProfileRange& range : process_.ranges) {
      Record record = record_of(
          range.span, range_rows_.of(range.category, [&] { return range_row(profile_.name(range.category)); }));
      record.a = text(range.span.name);
      record.b = text(range.category);
      threads_[range.thread].push_back(record);
    }
  }

  void add_steps() {
    for (const ProfileStep& step : process_.steps) {
      const std::uint16_t hook =
          row({.name = "ProfilerStep", .family = Family::kRange, .type = kRowStep, .labels = {"number"}});
      Record record = record_of(step.span, hook);
      record.a = step.number;
      threads_[step.thread].push_back(record);
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
    const int listed = place_in(profile_.name(call.group), call.size, head_.rank);
    Record record = record_of(call.span, hook);
    record.flags = can_be_joined ? 0 : kRecordRelative;
    record.a = call.communicator;
    record.b = call.elements;
    record.c = pack_nccl_call(call.sequence, 0, call.type, kNcclNoOp);
    record.e = pack_nccl_ranks(listed >= 0 ? listed : call.rank, call.size, call.peer);
    threads_[call.thread].push_back(record);
  }

  // By their numbers: the buffer that std::stable_sort takes is not aligned as records are.
  static void sort_records(std::vector<Record>& records) {
    std::vector<std::uint32_t> order(records.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&records](std::uint32_t left, std::uint32_t right) {
      const Record &l = records[left], &r = records[right];
      return l.begin_ticks != r.begin_ticks ? l.begin_ticks < r.begin_ticks : l.end_ticks > r.end_ticks;
    });
    std::vector<Record> sorted;
    sorted.reserve(records.size());
    for (const std::uint32_t number : order) sorted.push_back(records[number]);
    records = std::move(sorted);
  }

  void write_thread(std::uint32_t tid, const std::string& name, std::vector<Record>& records) {
    sort_records(records);
    ThreadEntry entry{};
    entry.state = kThreadEnded;
    entry.tid = tid;
    for (const Record& record : records) entry.end_ticks = std::max(entry.end_ticks, record.end_ticks);
    entry.start_ticks = records.empty() ? ticks(0) : records.front().begin_ticks;
    set_field(entry.name, name);
    out_.add_records({tid, entry.start_ticks}, records);
    out_.add_thread(entry);
    records = {};
  }

  const Profile& profile_;
  const ProfileProcess& process_;
  const ProfileHead& head_;
  const std::int64_t base_ns_;
  TraceWriter& out_;
  std::map<std::pair<int, std::string>, std::uint16_t> rows_;
  Memo<std::uint64_t> texts_;  // by name, as the next two
  Memo<CallRow> call_rows_;
  Memo<std::uint16_t> range_rows_;
  Memo<std::uint16_t> activity_rows_;  // by type
  std::vector<std::vector<Record>> threads_;
  std::map<std::uint64_t, std::vector<Record>> streams_;  // by device and stream
  std::vector<std::uint32_t> first_activity_;             // by call
};

// All that is done with spans, whatever they are of.
template <typename Visit>
void visit_spans(Profile& profile, Visit visit) {
  for (auto& [pid, process] : profile.processes()) {
    for (auto& one : process.calls) visit(one.span);
    for (auto& one : process.ranges) visit(one.span);
    for (auto& one : process.steps) visit(one.span);
    for (auto& one : process.collectives) visit(one.span);
    for (auto& one : process.annotated) visit(one.span);
  }
  for (auto& one : profile.activities()) visit(one.span);
}

// Nanoseconds to add to each time, so that it is CLOCK_REALTIME, or, where the file tells no such time, above 0.
std::int64_t base_of(Profile& profile, const ProfileHead& head, LeftOut& left_out) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  visit_spans(profile, [&](const ProfileSpan& span) { least = std::min(least, span.begin_ns); });
  const std::int64_t base = whole_number(head.base_time_ns).value_or(0);
  std::int64_t begin = 0;
  if (!__builtin_add_overflow(base, least, &begin) && begin > 0) return base;
  left_out.add("clocks that cannot be those of a day, replaced");
  return 1'000'000'000 - least;
}

// Of one file: what is more than a year away from the rest is a damaged time.
void drop_far_times(Profile& profile, LeftOut& left_out) {
  std::vector<std::int64_t> begins;
  visit_spans(profile, [&](const ProfileSpan& span) { begins.push_back(span.begin_ns); });
  if (begins.empty()) return;
  const auto middle = begins.begin() + static_cast<std::ptrdiff_t>(begins.size() / 2);
  std::nth_element(begins.begin(), middle, begins.end());
  const auto is_far = [&](const auto& one) {
    const double distance = static_cast<double>(one.span.begin_ns) - static_cast<double>(*middle);
    const bool far = std::abs(distance) > static_cast<double>(kLongestNs) || one.span.duration_ns > kLongestNs;
    if (far) left_out.add("events a year or more away from the others");
    return far;
  };
  for (auto& [pid, process] : profile.processes()) {
    std::erase_if(process.calls, is_far);
    std::erase_if(process.ranges, is_far);
    std::erase_if(process.steps, is_far);
    std::erase_if(process.collectives, is_far);
    std::erase_if(process.annotated, is_far);
  }
  std::erase_if(profile.activities(), is_far);
}

RealSpan whole_span(Profile& profile, std::int64_t base_ns) {
  std::int64_t begin = std::numeric_limits<std::int64_t>::max(), end = 0;
  const auto add = [&](const ProfileSpan& span) {
    begin = std::min(begin, span.begin_ns);
    end = std::max(end, span.begin_ns + span.duration_ns);
  };
  end = std::numeric_limits<std::int64_t>::min();
  visit_spans(profile, add);
  const std::int64_t first = begin, last = end;
  for (const ProfileSpan& span : profile.watched()) {
    const bool fits = span.begin_ns <= last && span.begin_ns + span.duration_ns >= first &&
                      span.duration_ns <= kLongestNs && span.begin_ns > first - kLongestNs;
    if (fits) add(span);
  }
  begin = std::max(begin, 1 - base_ns);
  return {static_cast<std::uint64_t>(base_ns + begin), static_cast<std::uint64_t>(base_ns + std::max(end, begin + 1))};
}

FileHeader header_of(const ProfileProcess& process, const ProfileHead& head, const std::string& source,
                     const RealSpan& span, const FileHeader* probed) {
  FileHeader header{};
  header.source = kFromProfile;
  header.pid = process.pid;
  header.rank = static_cast<std::int32_t>(whole_number(head.rank).value_or(probed != nullptr ? probed->rank : -1));
  header.local_rank = probed != nullptr ? probed->local_rank : -1;
  header.world_size =
      static_cast<std::int32_t>(whole_number(head.world_size).value_or(probed != nullptr ? probed->world_size : -1));
  const auto clocks = [&](std::uint64_t ns) {
    return ClockPair{ns, probed != nullptr ? monotonic_ns(*probed, ns) : ns, ns};
  };
  header.start = clocks(span.begin_ns);
  header.last = clocks(span.end_ns);
  set_field(header.mode, "profile");
  set_field(header.host, head.host);
  set_field(header.program, process.name);
  set_field(header.command, process.name.empty() ? source : process.name);
  if (probed == nullptr) return header;
  std::memcpy(header.host, probed->host, sizeof(header.host));
  std::memcpy(header.boot_id, probed->boot_id, sizeof(header.boot_id));
  return header;
}

void add_missing(const ProfileReading& reading, const LeftOut& left_out, const RealSpan& span, TraceWriter& out) {
  EventRow row{};
  row.ticks = span.end_ns;
  if (!reading.problem.empty()) {
    row.kind = kEventReadInPart;
    row.number = reading.read_bytes;
    row.amount = reading.all_bytes;
    set_field(row.text, reading.problem);
    out.add_event(row);
  }
  row.kind = kEventLeftOut;
  row.number = 0;
  for (const auto& [kind, count] : left_out.counts()) {
    row.amount = count;
    set_field(row.text, kind);
    out.add_event(row);
  }
}

}  // namespace

std::vector<std::string> write_profile(Profile& profile, const ProfileReading& reading, const std::string& source,
                                       const std::string& run, LeftOut& left_out) {
  const ProfileHead& head = reading.head;
  drop_far_times(profile, left_out);
  std::vector<ProfileProcess*> processes;
  for (auto& [pid, process] : profile.processes()) processes.push_back(&process);
  ProfileProcess nobody;  // of a profile of the GPU alone
  if (processes.empty() && !profile.activities().empty()) processes.push_back(&nobody);
  if (processes.empty()) return {};
  const std::int64_t base_ns = base_of(profile, head, left_out);
  const RealSpan span = whole_span(profile, base_ns);
  const Causes all_causes(processes);
  std::vector<Cause> causes;
  for (const ProfileActivity& activity : profile.activities()) {
    causes.push_back(all_causes.of(activity));
    if (causes.back().call == kNone) left_out.add("activities of the GPU whose launch is not in the profile");
  }
  const RunClocks clocks(run);
  std::vector<std::string> paths;
  for (std::uint32_t i = 0; i < processes.size(); ++i) {
    const FileHeader* probed = clocks.nearest(processes[i]->pid, head.host, span);
    TraceWriter out(run, header_of(*processes[i], head, source, span, probed));
    ProcessTrace(profile, *processes[i], head, base_ns, out).write(profile.activities(), causes, i);
    add_missing(reading, left_out, span, out);
    paths.push_back(out.finish());
  }
  return paths;
}

}  // namespace hostprobe::analysis
