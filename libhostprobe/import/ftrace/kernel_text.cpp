// kernel_text.cpp: see kernel_text.h.
#include "kernel_text.h"

#include <algorithm>

#include "kernel_event.h"
#include "trace/clock.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostLineBytes = 1 << 16;
constexpr std::size_t kMostTies = 1 << 16;

// A line; what is longer than one can be is cut and counted.
bool next_line(TextFile& file, std::string& line, LeftOut& left_out) {
  line.clear();
  if (file.at_end()) return false;
  bool too_long = false;
  while (!file.at_end()) {
    const char c = file.take();
    if (c == '\n') break;
    if (line.size() < kMostLineBytes)
      line += c;
    else
      too_long = true;
  }
  if (!line.empty() && line.back() == '\r') line.pop_back();
  if (too_long) {
    left_out.add("lines that are too long");
    line.clear();
  }
  return true;
}

class TextTrace {
 public:
  TextTrace(const std::string& path, LeftOut& left_out, const ReadProgress& progress)
      : file_(path, progress), left_out_(left_out), table_(left_out) {}

  void read() {
    std::string line;
    while (next_line(file_, line, left_out_)) add_line(line);
  }
  KernelTable& table() { return table_; }
  const std::string& problem() const { return file_.problem(); }
  TraceTimes times(const std::string& clock) const {
    TraceTimes times;
    times.form = form_.value_or(LineTime::kSeconds);
    times.clock = clock.empty() ? told_clock_ : clock;
    times.first = table_.first_ticks();
    times.last = table_.last_ticks();
    times.ties = ties_;
    return times;
  }

 private:
  void add_line(std::string_view line) {
    if (const auto parsed = parse_kernel_line(line)) return add_event(*parsed);
    if (const auto lost = parse_lost_line(line)) return add_lost(*lost);
    if (is_kernel_heading(line)) return add_heading(line);
    left_out_.add("lines that tell of no event");
  }

  // perf says which clock it used.
  void add_heading(std::string_view line) {
    if (line.find("clockid: monotonic_raw") != std::string_view::npos)
      told_clock_ = "mono_raw";
    else if (line.find("clockid: monotonic") != std::string_view::npos)
      told_clock_ = "mono";
    else if (line.find("clockid: boottime") != std::string_view::npos)
      told_clock_ = "boot";
  }

  void add_lost(const LostLine& lost) {
    table_.add_lost(lost.cpu, std::max<std::uint64_t>(lost.count, 1));
    left_out_.add("events that the kernel had lost", std::max<std::uint64_t>(lost.count, 1));
  }

  void add_event(const KernelLine& line) {
    // One file is of one clock: a line of another one is damaged.
    if (!form_) form_ = line.time_form;
    if (line.time_form != *form_) return left_out_.add("lines whose time is written in another way");
    if (const auto tie = clock_tie(line)) {
      if (ties_.size() < kMostTies) ties_.push_back(*tie);
      return;
    }
    if (!line.comm.empty()) table_.names().add_task(line.tid, line.time, line.comm, line.tgid);
    const EventReading reading = read_kernel_event(line, event_);
    if (reading == EventReading::kUnknown)
      return left_out_.add("events '" + std::string(line.event.substr(0, 64)) + "'");
    if (reading == EventReading::kUnreadable) return left_out_.add("lines that are cut or damaged");
    if (event_.row.what == kKernelFork) table_.names().renew(event_.row.other);
    for (const TaskName& task : event_.tasks) table_.names().add_task(task.tid, line.time, task.name);
    table_.names().add_irq(event_.row.value, event_.irq_name);
    table_.add(line.cpu, line.time, event_.row);
  }

  TextFile file_;
  LeftOut& left_out_;
  KernelTable table_;
  KernelEvent event_;
  std::optional<LineTime> form_;
  std::string told_clock_;
  std::vector<ClockTie> ties_;
};

FileHeader header_of(const KernelClock& clock, const TraceTimes& times, const std::string& source) {
  TickClock ticks;
  ticks.set_pairs(clock.pairs);
  FileHeader header{};
  header.source = kFromKernel;
  header.rank = header.local_rank = header.world_size = -1;
  const auto moment = [&](std::uint64_t time) {
    const std::uint64_t monotonic_ns = ticks.monotonic_ns(time);
    return ClockPair{time, monotonic_ns, monotonic_ns + static_cast<std::uint64_t>(ticks.realtime_offset_ns())};
  };
  header.start = moment(std::max<std::uint64_t>(times.first, 1));
  header.last = moment(std::max<std::uint64_t>(times.last, 1));
  set_field(header.mode, "kernel");
  set_field(header.command, source);
  set_field(header.host, clock.host);
  set_field(header.boot_id, clock.boot_id);
  return header;
}

}  // namespace

KernelReading write_kernel_table(KernelTable& table, const TraceTimes& times, const std::string& source,
                                 const std::string& run) {
  KernelReading reading;
  if (table.rows() == 0) {
    reading.problem = "no event of the scheduler or of an interrupt is in it";
    return reading;
  }
  const KernelClock clock = join_clock(times, RunClocks(run));
  reading.problem = clock.problem;
  reading.note = clock.note;
  if (!clock.problem.empty()) return reading;
  TraceWriter out(run, header_of(clock, times, source));
  for (const ClockPair& pair : clock.pairs) out.add_clock(pair);
  table.write(out);
  reading.traces.push_back(out.finish());
  return reading;
}

KernelReading import_kernel_text(const std::string& path, const std::string& run, const std::string& clock,
                                 LeftOut& left_out, const ReadProgress& progress) {
  TextTrace trace(path, left_out, progress);
  trace.read();
  KernelReading reading = write_kernel_table(trace.table(), trace.times(clock), path, run);
  if (reading.problem.empty()) reading.problem = trace.problem();
  return reading;
}

}  // namespace hostprobe::analysis
