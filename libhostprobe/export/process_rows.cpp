// process_rows.cpp: one process as rows of slices; see timeline.h.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>

#include "answer/file_name.h"
#include "model/ordered_records.h"
#include "model/wake.h"
#include "timeline.h"
#include "trace/hook_list.h"
#include "words/json_string.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

// What the viewers show in one row must lie inside or beside each other. What overlaps otherwise (kernels of a graph, ranges of
// different sources) goes to a row below.
class Lanes {
 public:
  std::size_t place(std::uint64_t begin, std::uint64_t end) {
    for (std::size_t i = 0;; ++i) {
      if (i == lanes_.size()) lanes_.emplace_back();
      std::vector<std::uint64_t>& ends = lanes_[i];
      while (!ends.empty() && ends.back() <= begin) ends.pop_back();
      if (!ends.empty() && end > ends.back()) continue;
      ends.push_back(end);
      return i;
    }
  }

 private:
  std::vector<std::vector<std::uint64_t>> lanes_;  // of each the ends of what is open, the outermost first
};

class ProcessRows {
 public:
  ProcessRows(const Timeline& timeline, const DeviceTimeline& device, TimelineWriter& out)
      : timeline_(timeline), trace_(timeline.trace()), device_(device), out_(out), ticks_(trace_.clock) {}

  // Threads before streams: an arrow needs what it begins at to stand before it.
  void write() {
    name_process();
    for (const auto& [key, thread] : trace_.threads)
      if (!is_stream(key)) write_thread(thread);
    for (const auto& [key, thread] : trace_.threads)
      if (is_stream(key)) write_thread(thread);
    write_gpu();
  }

 private:
  void name_process() {
    const FileHeader& header = trace_.header;
    const std::string program(header.program, strnlen(header.program, sizeof(header.program)));
    const std::string rank = header.rank < 0 ? "" : fmt::format("rank {} ", header.rank);
    out_.begin_process(trace_, fmt::format("{}{} pid {}", rank, base_name(program), header.pid));
  }

  // The row of a thread or stream, or the one below for what overlaps.
  std::uint64_t row_of(const ThreadKey& key, const std::string& own_name, std::size_t lane) {
    const auto [found, fresh] = rows_.try_emplace({key, lane}, kFirstLane + rows_.size());
    if (!fresh) return found->second;
    const bool is_own = lane == 0 && !is_stream(key) && tids_.insert(key.tid).second;
    if (is_own) found->second = key.tid;
    std::string text = own_name.empty() ? fmt::format("thread {}", key.tid) : own_name;
    if (lane > 0) text += fmt::format(" ({})", lane + 1);
    out_.add_row(found->second, text);
    return found->second;
  }

  void write_thread(const Thread& thread) {
    Lanes lanes;
    row_of(thread.key, thread.name, 0);
    posts_.clear();
    OrderedRecords records(
        thread, [&](const Record& record) { write_record(thread, lanes, record); }, [](std::uint64_t) {},
        [](std::uint64_t) {});
    records.walk();
    write_states(thread);
  }

  // In a row of their own: what the kernel did with the thread. Woken is who has been posted to by a thread that is known.
  void write_states(const Thread& thread) {
    const std::vector<OffCpu>& spans = timeline_.switches().of(thread.key).spans();
    if (spans.empty()) return;
    std::sort(posts_.begin(), posts_.end());
    const auto [row, fresh] = rows_.try_emplace({thread.key, SIZE_MAX}, kFirstLane + rows_.size());
    out_.add_row(row->second, fmt::format("{} (CPU)", thread.name));
    const auto state = [&, tid = row->second](const char* what, double begin_ns, double end_ns, int cpu) {
      const std::int64_t begin = moment_of(begin_ns), end = moment_of(end_ns);
      if (end > begin) out_.put({tid, what, "thread_state", begin, end, {{"cpu", fmt::to_string(cpu)}}});
    };
    for (std::size_t i = 0; i < spans.size(); ++i) {
      const OffCpu& span = spans[i];
      if (i > 0) state("Running", spans[i - 1].in_ns, span.out_ns, span.out_cpu);
      const double woken_ns = span.runnable ? span.in_ns : woken_in(span);
      state(span.runnable ? "Preempted" : "Sleeping", span.out_ns, woken_ns, span.out_cpu);
      state("Runnable", woken_ns, span.in_ns, span.in_cpu);
    }
  }

  // When it was woken there; where nobody knows, when it ran again.
  double woken_in(const OffCpu& span) const {
    const auto post = std::lower_bound(posts_.begin(), posts_.end(), span.out_ns);
    return post != posts_.end() && *post < span.in_ns ? *post : span.in_ns;
  }

  std::int64_t moment(std::uint64_t ticks) const { return static_cast<std::int64_t>(trace_.clock.monotonic_ns(ticks)); }
  // Of a time as in event.h.
  std::int64_t moment_of(double ns) const { return static_cast<std::int64_t>(trace_.clock.monotonic_ns_of(ns)); }

  // Streams of a profile have records of their own.
  void write_gpu() {
    if (device_.source != ActivitySource::kEvents && device_.source != ActivitySource::kAccount) return;
    const char* how = device_.source == ActivitySource::kEvents ? ", reconstructed" : "";
    std::map<std::uint32_t, Lanes> lanes;
    for (const Activity& activity : device_.activities) {
      const DeviceStream& stream = device_.streams[activity.stream];
      const std::int64_t begin = moment_of(activity.begin_ns), end = std::max(begin, moment_of(activity.end_ns));
      const std::size_t lane =
          lanes[activity.stream].place(static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end));
      const std::uint64_t row = row_of({kStreamTid + activity.stream, 0},
                                       fmt::format("GPU {} stream {:#x}{}", stream.device, stream.id, how), lane);
      TimelineSlice slice{row, device_.names[activity.name], "gpu", begin, end};
      slice.arguments.push_back({"bytes", fmt::to_string(activity.bytes)});
      if (activity.unknown) slice.arguments.push_back({"end", "\"not known\""});
      if (tids_.contains(activity.launch_tid))
        slice.to_begin = Flow{"launch", activity.launch_tid, std::min(moment_of(activity.launch_ns), begin)};
      out_.put(slice);
    }
  }

  void write_record(const Thread& thread, Lanes& lanes, const Record& record) {
    const Hook* hook = trace_.hook_of(record);
    if (hook == nullptr || record.end_ticks < record.begin_ticks) return;
    const Function& function = timeline_.functions()[record.hook - 1u];
    if (function.is(kPolls)) return;
    const std::int64_t begin = moment(record.begin_ticks), end = std::max(begin, moment(record.end_ticks));
    if (hook->type == kRowMark) return write_mark(record, begin);
    const std::uint64_t row = row_of(thread.key, thread.name, lanes.place(record.begin_ticks, record.end_ticks));
    const std::string name = name_of(*hook, function, record);
    TimelineSlice slice{row, name, family_name(hook->family), begin, end, arguments(*hook, function, record)};
    if (const auto tid = static_cast<std::uint32_t>(record.e);
        function.is(kRunsOnGpu) && record.c != 0 && tids_.contains(tid))
      slice.to_begin = Flow{"launch", tid, moment(record.c)};
    if (const auto wake = wake_of(function, record)) {
      if (timeline_.track_at(wake->tid, wake->ticks) != nullptr)
        slice.to_end = Flow{"wake", wake->tid, moment(wake->ticks)};
      posts_.push_back(ticks_.since_first_ns(wake->ticks));
    }
    out_.put(slice);
  }

  // A curve of its own: its numbers over time.
  void write_mark(const Record& record, std::int64_t at) {
    const double value = std::bit_cast<double>(record.b);
    if (std::isfinite(value)) out_.put(trace_.strings.text(record.a), at, value);
  }

  std::string name_of(const Hook& hook, const Function& function, const Record& record) const {
    if (hook.type == kRowStep) return fmt::format("step {}", record.a);
    if (!function.is(kRunsOnGpu) && !function.is(kNamesTime)) return hook.name;
    const std::string_view text = trace_.strings.text(record.a);
    return text.empty() ? hook.name : std::string(text);
  }

  std::vector<SliceArgument> arguments(const Hook& hook, const Function& function, const Record& record) const {
    std::vector<SliceArgument> all;
    for (int i = 0; i < 5; ++i) {
      const Label& label = hook.labels[i];
      if (label.name.empty() || label.form == Form::kPost) continue;
      std::string value = argument(label, word(record, i), record.end_ticks);
      if (!value.empty()) all.push_back({label.name, std::move(value)});
    }
    if (const auto wake = wake_of(function, record)) {
      all.push_back({"waker", fmt::to_string(wake->tid)});
      all.push_back({"wake_us", fmt::format("{:.3f}", 1e-3 * trace_.clock.span_ns(wake->ticks, record.end_ticks))});
    }
    return all;
  }

  std::string argument(const Label& label, std::uint64_t value, std::uint64_t ticks) const {
    switch (label.form) {
      case Form::kString:
        return value == 0 ? "" : json_text(trace_.strings.text(value));
      case Form::kDim:
        return fmt::format("[{},{},{}]", value & 0xffffffffu, value >> 32 & 0xffffu, value >> 48);
      case Form::kSigned:
        return fmt::to_string(static_cast<std::int64_t>(value));
      case Form::kHex:
        return fmt::format("\"{:#x}\"", value);
      case Form::kCode: {
        const Module* module = trace_.module_at(value, ticks);
        return module == nullptr ? "" : json_text(base_name(module->path));
      }
      case Form::kNcclCall:
        return fmt::to_string(value & 0xffffffffu);
      case Form::kReal:
        return real_text(std::bit_cast<double>(value));
      case Form::kRanks:
        return fmt::format("[{},{}]", static_cast<int>(value & 0x1fffff) - 1, value >> 21 & 0x1fffff);
      default:
        return fmt::to_string(value);
    }
  }

  const Timeline& timeline_;
  const Trace& trace_;
  const DeviceTimeline& device_;
  TimelineWriter& out_;
  std::map<std::pair<ThreadKey, std::size_t>, std::uint64_t> rows_;
  std::set<std::uint32_t> tids_;
  TickReader ticks_;
  std::vector<double> posts_;  // that woke the thread
};

}  // namespace

void write_process_rows(const Timeline& timeline, const DeviceTimeline& device, TimelineWriter& out) {
  ProcessRows(timeline, device, out).write();
}

}  // namespace hostprobe::analysis
