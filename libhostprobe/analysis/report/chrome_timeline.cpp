// chrome_timeline.cpp: see chrome_timeline.h.
#include "chrome_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>

#include "analysis/timeline/activity.h"
#include "analysis/timeline/ordered_records.h"
#include "analysis/trace/hook_list.h"
#include "chrome_kernel.h"
#include "words.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kFlushBytes = 1 << 16;
constexpr std::uint64_t kFirstLane = 5'000'000;  // above the ids that a kernel gives: streams, and what overlaps
constexpr std::uint64_t kOtherProcess = 10'000'000;
constexpr std::uint32_t kCpusProcess = 9'000'000;  // what the kernel told is of no process

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

// All traces write one document.
class Document {
 public:
  explicit Document(const Sink& sink) : sink_(sink) { sink_("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"); }

  template <typename... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    if (any_) buffer_.append(std::string_view(",\n"));
    any_ = true;
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Args>(args)...);
    if (buffer_.size() >= kFlushBytes) flush();
  }
  void finish() {
    buffer_.append(std::string_view("\n]}\n"));
    flush();
  }
  std::uint64_t next_arrow() { return ++arrows_; }
  // The process's own id, where no other process of the run has it.
  std::uint64_t process_id(std::uint32_t pid) {
    return pids_.insert(pid).second ? pid : kOtherProcess + pids_.size() + ++again_;
  }
  // What to add to CLOCK_MONOTONIC: all processes of a host are moved by the same.
  std::int64_t offset_of(const Trace& trace) {
    const std::string host(trace.header.host, strnlen(trace.header.host, sizeof(trace.header.host)));
    return offsets_.try_emplace(host, trace.clock.realtime_offset_ns()).first->second;
  }

 private:
  void flush() {
    sink_({buffer_.data(), buffer_.size()});
    buffer_.clear();
  }

  const Sink& sink_;
  fmt::memory_buffer buffer_;
  bool any_ = false;
  std::uint64_t arrows_ = 0;
  std::uint64_t again_ = 0;
  std::set<std::uint32_t> pids_;
  std::map<std::string, std::int64_t> offsets_;
};

std::string micros(std::int64_t ns) {
  const std::uint64_t size = ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", size / 1000, size % 1000);
}

class TraceTimeline {
 public:
  TraceTimeline(const Timeline& timeline, std::uint64_t first_ns, Document& out)
      : timeline_(timeline),
        trace_(timeline.trace()),
        out_(out),
        pid_(out.process_id(trace_.header.pid)),
        ticks_(trace_.clock) {
    shift_ns_ = out.offset_of(trace_) - static_cast<std::int64_t>(first_ns);
  }

  // Threads before streams: an arrow needs what it begins at to stand before it.
  void write() {
    name_process();
    for (const auto& [key, thread] : trace_.threads)
      if (!is_stream(key)) write_thread(thread);
    for (const auto& [key, thread] : trace_.threads)
      if (is_stream(key)) write_thread(thread);
    write_simulated();
  }

 private:
  void name_process() {
    const FileHeader& header = trace_.header;
    const std::string program(header.program, strnlen(header.program, sizeof(header.program)));
    const std::string rank = header.rank < 0 ? "" : fmt::format("rank {} ", header.rank);
    name("process_name", 0, fmt::format("{}{} pid {}", rank, base_name(program), header.pid));
    out_.add(R"({{"ph":"M","name":"process_sort_index","pid":{},"tid":0,"args":{{"sort_index":{}}}}})", pid_,
             header.rank < 0 ? 1 << 20 : header.rank);
  }

  void name(const char* what, std::uint64_t tid, const std::string& text) {
    out_.add(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}}}})", what, pid_, tid, json_text(text));
  }

  // The row of a thread or stream, or the one below for what overlaps.
  std::uint64_t row_of(const ThreadKey& key, const std::string& own_name, std::size_t lane) {
    const auto [found, fresh] = rows_.try_emplace({key, lane}, kFirstLane + rows_.size());
    if (!fresh) return found->second;
    const bool is_own = lane == 0 && !is_stream(key) && tids_.insert(key.tid).second;
    if (is_own) found->second = key.tid;
    std::string text = own_name.empty() ? fmt::format("thread {}", key.tid) : own_name;
    if (lane > 0) text += fmt::format(" ({})", lane + 1);
    name("thread_name", found->second, text);
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
    name("thread_name", row->second, fmt::format("{} (CPU)", thread.name));
    const auto state = [&, tid = row->second](const char* what, double begin_ns, double end_ns, int cpu) {
      const std::int64_t begin = moment_of(begin_ns), end = moment_of(end_ns);
      if (end > begin)
        out_.add(
            R"({{"ph":"X","name":"{}","cat":"thread_state","pid":{},"tid":{},"ts":{},"dur":{},"args":{{"cpu":{}}}}})",
            what, pid_, tid, micros(begin), micros(end - begin), cpu);
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

  std::int64_t moment(std::uint64_t ticks) const {
    return static_cast<std::int64_t>(trace_.clock.monotonic_ns(ticks)) + shift_ns_;
  }
  // Of a time as in event.h.
  std::int64_t moment_of(double ns) const {
    return static_cast<std::int64_t>(trace_.clock.monotonic_ns_of(ns)) + shift_ns_;
  }

  // What ran on the simulated node stands in a file of its own.
  void write_simulated() {
    const DeviceTimeline device = device_timeline(trace_);
    if (device.source != ActivitySource::kSimulated) return;
    std::map<std::uint32_t, Lanes> lanes;
    for (const Activity& activity : device.activities) {
      const DeviceStream& stream = device.streams[activity.stream];
      const std::int64_t begin = moment_of(activity.begin_ns), end = std::max(begin, moment_of(activity.end_ns));
      const std::size_t lane =
          lanes[activity.stream].place(static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end));
      const std::uint64_t tid =
          row_of({kStreamTid + activity.stream, 0}, fmt::format("GPU {} stream {:#x}", stream.device, stream.id), lane);
      out_.add(R"({{"ph":"X","name":{},"cat":"gpu","pid":{},"tid":{},"ts":{},"dur":{},"args":{{"bytes":{}}}}})",
               json_text(device.names[activity.name]), pid_, tid, micros(begin), micros(end - begin), activity.bytes);
      if (tids_.contains(activity.launch_tid))
        lead("launch", activity.launch_tid, std::min(moment_of(activity.launch_ns), begin), tid, begin);
    }
  }

  void write_record(const Thread& thread, Lanes& lanes, const Record& record) {
    const Hook* hook = trace_.hook_of(record);
    if (hook == nullptr || record.end_ticks < record.begin_ticks) return;
    const Function& function = timeline_.functions()[record.hook - 1u];
    if (function.is(kPolls)) return;
    const std::int64_t begin = moment(record.begin_ticks), end = std::max(begin, moment(record.end_ticks));
    if (hook->type == kRowMark) return write_mark(record, begin);
    const std::uint64_t tid = row_of(thread.key, thread.name, lanes.place(record.begin_ticks, record.end_ticks));
    out_.add(R"({{"ph":"X","name":{},"cat":"{}","pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}})",
             json_text(name_of(*hook, function, record)), family_name(hook->family), pid_, tid, micros(begin),
             micros(end - begin), arguments(*hook, function, record));
    if (function.is(kRunsOnGpu) && record.c != 0) lead_from_launch(record, tid, begin);
    if (const auto wake = wake_of(function, record)) {
      lead_from_waker(*wake, tid, end);
      posts_.push_back(ticks_.since_first_ns(wake->ticks));
    }
  }

  // A curve of its own: its numbers over time.
  void write_mark(const Record& record, std::int64_t at) {
    const double value = std::bit_cast<double>(record.b);
    if (!std::isfinite(value)) return;
    out_.add(R"({{"ph":"C","name":{},"pid":{},"ts":{},"args":{{"value":{}}}}})",
             json_text(trace_.strings.text(record.a)), pid_, micros(at), value);
  }

  std::string name_of(const Hook& hook, const Function& function, const Record& record) const {
    if (hook.type == kRowStep) return fmt::format("step {}", record.a);
    if (!function.is(kRunsOnGpu) && !function.is(kNamesTime)) return hook.name;
    const std::string_view text = trace_.strings.text(record.a);
    return text.empty() ? hook.name : std::string(text);
  }

  std::string arguments(const Hook& hook, const Function& function, const Record& record) const {
    std::string text;
    for (int i = 0; i < 5; ++i) {
      const Label& label = hook.labels[i];
      if (label.name.empty() || label.form == Form::kPost) continue;
      const std::string value = argument(label, word(record, i), record.end_ticks);
      if (!value.empty()) text += fmt::format("{}{}:{}", text.empty() ? "" : ",", json_text(label.name), value);
    }
    if (const auto wake = wake_of(function, record))
      text += fmt::format(R"({}"waker":{},"wake_us":{:.3f})", text.empty() ? "" : ",", wake->tid,
                          1e-3 * trace_.clock.span_ns(wake->ticks, record.end_ticks));
    return text;
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

  void lead_from_launch(const Record& record, std::uint64_t tid, std::int64_t begin) {
    const auto launch_tid = static_cast<std::uint32_t>(record.e);
    if (tids_.contains(launch_tid)) lead("launch", launch_tid, moment(record.c), tid, begin);
  }

  // It ends where the waiter ran again; the very end is no part of a wait any more.
  void lead_from_waker(const Wake& wake, std::uint64_t tid, std::int64_t end) {
    const std::int64_t post = moment(wake.ticks);
    if (timeline_.track_at(wake.tid, wake.ticks) != nullptr) lead("wake", wake.tid, post, tid, std::max(post, end - 1));
  }

  void lead(const char* what, std::uint64_t from, std::int64_t from_ns, std::uint64_t to, std::int64_t to_ns) {
    const std::uint64_t id = out_.next_arrow();
    out_.add(R"({{"ph":"s","name":"{0}","cat":"{0}","id":{1},"pid":{2},"tid":{3},"ts":{4}}})", what, id, pid_, from,
             micros(from_ns));
    out_.add(R"({{"ph":"f","bp":"e","name":"{0}","cat":"{0}","id":{1},"pid":{2},"tid":{3},"ts":{4}}})", what, id, pid_,
             to, micros(to_ns));
  }

  const Timeline& timeline_;
  const Trace& trace_;
  Document& out_;
  const std::uint64_t pid_;
  std::int64_t shift_ns_ = 0;
  std::map<std::pair<ThreadKey, std::size_t>, std::uint64_t> rows_;
  std::set<std::uint32_t> tids_;
  TickReader ticks_;
  std::vector<double> posts_;  // that woke the thread
};

}  // namespace

std::vector<std::string> export_chrome(const std::string& run, const Sink& sink, const ExportProgress& progress) {
  const std::uint64_t first_ns = first_moment_ns(run);
  Document out(sink);
  std::vector<std::string> problems = visit_traces(
      run, [&](const Timeline& timeline) { TraceTimeline(timeline, first_ns, out).write(); },
      [&](const Trace& trace) {
        write_chrome_kernel(trace, out.process_id(kCpusProcess),
                            out.offset_of(trace) - static_cast<std::int64_t>(first_ns),
                            [&out](std::string_view event) { out.add("{}", event); });
      },
      progress);
  out.finish();
  return problems;
}

}  // namespace hostprobe::analysis
