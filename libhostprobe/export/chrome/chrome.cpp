// chrome.cpp: a run as a timeline for the Perfetto UI and chrome://tracing, in the trace event format; see timeline.h.
//
// Room 3. Written event by event. Times are microseconds since the first moment of the run.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "export/timeline.h"
#include "trace/trace_head.h"
#include "words/json_string.h"

namespace hostprobe::analysis {
namespace {

constexpr std::uint64_t kOtherProcess = 10'000'000;
constexpr std::uint32_t kCpusProcess = 9'000'000;  // what the kernel told is of no process
constexpr std::uint64_t kMostFlows = 100'000'000;  // of one machine; their numbers are others than those of processes

std::string micros(std::int64_t ns) {
  const std::uint64_t size = ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", size / 1000, size % 1000);
}

// All traces write one document.
class ChromeWriter : public TimelineWriter {
 public:
  ChromeWriter(const Sink& sink, std::uint64_t first_ns) : sink_(sink), first_ns_(static_cast<std::int64_t>(first_ns)) {
    sink_("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
  }

  void finish() override {
    buffer_.append(std::string_view("\n]}\n"));
    flush();
  }
  void begin_process(const Trace& trace, const std::string& text) override {
    pid_ = process_id(trace.header.pid);
    shift_ns_ = shift_of(trace);
    flows_of_machine_.reset();
    name("process_name", 0, text);
    add(R"({{"ph":"M","name":"process_sort_index","pid":{},"tid":0,"args":{{"sort_index":{}}}}})", pid_,
        trace.header.rank < 0 ? 1 << 20 : trace.header.rank);
  }
  void add_row(std::uint64_t row, const std::string& text) override { name("thread_name", row, text); }
  void add_slice(const TimelineSlice& slice) override {
    std::string arguments;
    for (const SliceArgument& one : slice.arguments)
      arguments += fmt::format("{}{}:{}", arguments.empty() ? "" : ",", json_text(one.name), one.value);
    add(R"({{"ph":"X","name":{},"cat":"{}","pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}})", json_text(slice.name),
        slice.category, pid_, slice.row, micros(slice.begin_ns + shift_ns_), micros(slice.end_ns - slice.begin_ns),
        arguments);
    if (slice.to_begin) lead(*slice.to_begin, slice.row, slice.begin_ns);
    // It ends where the waiter ran again; the very end is no part of a wait any more.
    if (slice.to_end) lead(*slice.to_end, slice.row, std::max(slice.to_end->ns, slice.end_ns - 1));
  }
  void add_number(std::string_view text, std::int64_t ns, double value) override {
    add(R"({{"ph":"C","name":{},"pid":{},"ts":{},"args":{{"value":{}}}}})", json_text(text), pid_,
        micros(ns + shift_ns_), value);
  }
  std::string add_machine(const Trace& trace) override {
    pid_ = process_id(kCpusProcess);
    shift_ns_ = shift_of(trace);
    flows_of_machine_ = 0;
    const std::string host = host_of(trace.header);
    name("process_name", 0, host.empty() ? "CPUs" : "CPUs of " + host);
    write_cpu_rows(trace, *this);
    return {};
  }

 private:
  template <typename... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    if (any_) buffer_.append(std::string_view(",\n"));
    any_ = true;
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Args>(args)...);
    if (buffer_.size() >= kFlushBytes) flush();
  }
  // The process's own id, where no other process of the run has it.
  std::uint64_t process_id(std::uint32_t pid) {
    return pids_.insert(pid).second ? pid : kOtherProcess + pids_.size() + ++again_;
  }
  // What to add to CLOCK_MONOTONIC: all processes of a host are moved by the same.
  std::int64_t shift_of(const Trace& trace) {
    return offsets_.try_emplace(host_of(trace.header), trace.clock.realtime_offset_ns()).first->second - first_ns_;
  }
  void name(const char* what, std::uint64_t tid, const std::string& text) {
    add(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}}}})", what, pid_, tid, json_text(text));
  }
  void lead(const Flow& from, std::uint64_t to, std::int64_t to_ns) {
    if (flows_of_machine_ == kMostFlows) return;
    const std::uint64_t id = flows_of_machine_ ? pid_ * kMostFlows + (*flows_of_machine_)++ : ++flows_;
    add(R"({{"ph":"s","name":"{0}","cat":"{0}","id":{1},"pid":{2},"tid":{3},"ts":{4}}})", from.name, id, pid_, from.row,
        micros(from.ns + shift_ns_));
    add(R"({{"ph":"f","bp":"e","name":"{0}","cat":"{0}","id":{1},"pid":{2},"tid":{3},"ts":{4}}})", from.name, id, pid_,
        to, micros(to_ns + shift_ns_));
  }
  void flush() {
    sink_({buffer_.data(), buffer_.size()});
    buffer_.clear();
  }

  const Sink& sink_;
  const std::int64_t first_ns_;
  std::uint64_t pid_ = 0;
  std::int64_t shift_ns_ = 0;
  fmt::memory_buffer buffer_;
  bool any_ = false;
  std::uint64_t flows_ = 0;                        // of processes
  std::optional<std::uint64_t> flows_of_machine_;  // of the one that is written
  std::uint64_t again_ = 0;
  std::set<std::uint32_t> pids_;
  std::map<std::string, std::int64_t> offsets_;
};

std::vector<std::string> write(const ExportRequest& request, const Sink& sink, const ExportProgress& progress) {
  ChromeWriter out(sink, first_moment_ns(request.run));
  return write_timeline(request, progress, out);
}

}  // namespace

ExportForm chrome_form() {
  return {"--chrome", "A timeline for ui.perfetto.dev and chrome://tracing", ExportKind::kTimeline, write};
}

}  // namespace hostprobe::analysis
