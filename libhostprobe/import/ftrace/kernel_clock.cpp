// kernel_clock.cpp: see kernel_clock.h.
#include "kernel_clock.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "trace/clock.h"
#include "trace/reader.h"

namespace hostprobe::analysis {
namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr std::uint64_t kMostNs = std::uint64_t{1} << 62;
constexpr double kMostRate = 100;  // ticks in a nanosecond, and nanoseconds in a tick

std::string field(const char* text, std::size_t size) { return std::string(text, strnlen(text, size)); }

std::uint64_t now_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * kSecondNs + static_cast<std::uint64_t>(now.tv_nsec);
}

// The probe's trace that was written while most of these times passed; without any, the one that ended last.
const RunFile* beside(const RunClocks& run, std::uint64_t begin, std::uint64_t end, std::uint64_t ClockPair::*reading) {
  const RunFile* best = nullptr;
  std::uint64_t most = 0;
  for (const RunFile& trace : run.traces()) {
    const std::uint64_t from = std::max(begin, trace.header.start.*reading),
                        to = std::min(end, trace.header.last.*reading);
    const std::uint64_t both = to > from ? to - from : 0;
    if (best != nullptr && both <= most) continue;
    best = &trace;
    most = both;
  }
  return best;
}

class Joining {
 public:
  Joining(const TraceTimes& times, const RunClocks& run) : times_(times), run_(run) {}

  KernelClock join() {
    if (times_.ties.size() > 0)
      by_ties();
    else if (times_.form == LineTime::kTicks && (times_.clock.empty() || times_.clock == "x86-tsc"))
      by_ticks();
    else if (times_.form == LineTime::kRelative)
      refuse("its times count from its own beginning (latency format)");
    else if (times_.clock == "mono")
      by_offset(0, "");
    else if (times_.clock == "mono_raw" || times_.clock == "boot")
      by_this_boot();
    else
      refuse(times_.clock.empty()      ? "its clock is not told (the kernel's own default is local)"
             : times_.clock == "local" ? "its clock is local, which each CPU has its own of"
                                       : fmt::format("its clock is {}, which no other program can read", times_.clock));
    return std::move(clock_);
  }

 private:
  void refuse(const std::string& why) {
    clock_.problem =
        why +
        ", so it cannot be put beside the run: record with trace_clock x86-tsc or mono and say --clock mono, "
        "or write 'hostprobe monotonic_ns=N' into trace_marker while it records";
  }

  void set_host(const RunFile* trace) {
    if (trace == nullptr) {
      clock_.note = "no trace of the probe is in the run: its host is not known";
      return;
    }
    clock_.host = field(trace->header.host, sizeof(trace->header.host));
    clock_.boot_id = field(trace->header.boot_id, sizeof(trace->header.boot_id));
    for (const RunFile& other : run_.traces())
      if (field(other.header.host, sizeof(other.header.host)) != clock_.host)
        clock_.note = fmt::format("the run has several hosts; taken for a trace of {}", clock_.host);
  }

  // CLOCK_REALTIME at a moment of CLOCK_MONOTONIC, as the trace beside it has it.
  std::uint64_t real_of(const RunFile* trace, std::uint64_t monotonic_ns) const {
    if (trace == nullptr) return monotonic_ns + (now_ns(CLOCK_REALTIME) - now_ns(CLOCK_MONOTONIC));
    return monotonic_ns + (trace->header.last.realtime_ns - trace->header.last.monotonic_ns);
  }

  void add_pair(const RunFile* trace, std::uint64_t time, std::uint64_t monotonic_ns) {
    clock_.pairs.push_back(
        {std::max<std::uint64_t>(time, 1), std::max<std::uint64_t>(monotonic_ns, 1), real_of(trace, monotonic_ns)});
  }

  // Times are nanoseconds that differ from CLOCK_MONOTONIC by as much all the time.
  void by_offset(std::int64_t offset_ns, const std::string& note) {
    const std::uint64_t first = times_.first + static_cast<std::uint64_t>(offset_ns);
    if (first > kMostNs) return refuse("its times do not fit the clock that is named");
    const std::uint64_t length = std::max(times_.last - times_.first, kSecondNs);
    const RunFile* trace = beside(run_, first, first + length, &ClockPair::monotonic_ns);
    set_host(trace);
    if (!note.empty()) clock_.note = note;
    add_pair(trace, times_.first, first);
    add_pair(trace, times_.first + length, first + length);
  }

  // The same counter as the probe's: between its own readings, as exactly as its own records.
  void by_ticks() {
    if (times_.last > kMostNs) return refuse("its ticks are too many for a counter of ticks");
    const RunFile* trace = beside(run_, times_.first, times_.last, &ClockPair::ticks);
    set_host(trace);
    if (trace == nullptr) return by_ticks_of_this_boot();
    clock_.pairs = {trace->header.start, trace->header.first, trace->header.last};
    try {
      const std::vector<ClockPair> read = read_trace_file_only(trace->path).clock_pairs;
      clock_.pairs.insert(clock_.pairs.end(), read.begin(), read.end());
    } catch (const TraceError&) {
    }  // damaged: what its header says is left
    TickClock check;
    check.set_pairs(clock_.pairs);
    if (!check.known()) refuse("the run's own trace tells no rate of the ticks");
  }

  void by_ticks_of_this_boot() {
    const ClockPair now = read_clocks_now();
    if (times_.last > now.ticks) return refuse("its ticks are not those of this machine since it was started");
    clock_.note += "; its ticks are taken for those of this machine";
    const timespec pause{0, 50'000'000};
    nanosleep(&pause, nullptr);
    clock_.pairs = {now, read_clocks_now()};
  }

  // Only where this machine was not started again; the farther back the trace lies, the less exactly.
  void by_this_boot() {
    const RunFile* any = beside(run_, times_.first, times_.last, &ClockPair::monotonic_ns);
    const bool same = any != nullptr && field(any->header.boot_id, sizeof(any->header.boot_id)) == current_boot_id();
    if (!same)
      return refuse(
          fmt::format("its clock is {}, which only the machine itself could compare with the probe's", times_.clock));
    if (times_.clock == "boot") {
      const std::uint64_t before = now_ns(CLOCK_MONOTONIC), other = now_ns(CLOCK_BOOTTIME),
                          after = now_ns(CLOCK_MONOTONIC);
      return by_offset(static_cast<std::int64_t>(before + (after - before) / 2 - other), "");
    }
    by_raw();
  }

  // mono_raw beside the ticks: of several readings the one that nothing came between.
  struct RawReading {
    std::uint64_t ticks = 0, raw_ns = 0, between_ns = UINT64_MAX;
  };
  static RawReading read_raw() {
    RawReading best;
    for (int i = 0; i < 200; ++i) {
      const std::uint64_t before = now_ns(CLOCK_MONOTONIC_RAW), ticks = read_clocks_now().ticks;
      const std::uint64_t after = now_ns(CLOCK_MONOTONIC_RAW);
      if (after - before < best.between_ns) best = {ticks, before + (after - before) / 2, after - before};
    }
    return best;
  }

  // It runs straight against the ticks, and the probe's trace tells CLOCK_MONOTONIC by ticks.
  void by_raw() {
    const RawReading first = read_raw();
    const timespec pause{0, 300'000'000};
    nanosleep(&pause, nullptr);
    const RawReading last = read_raw();
    const double length_ns = static_cast<double>(last.raw_ns - first.raw_ns);
    const double ticks_per_ns = static_cast<double>(last.ticks - first.ticks) / length_ns;
    const std::uint64_t offset = now_ns(CLOCK_MONOTONIC) - last.raw_ns;  // wrong by as much as it was slewed since
    const RunFile* trace = beside(run_, times_.first + offset, times_.last + offset, &ClockPair::monotonic_ns);
    TickClock ticks;
    ticks.set_pairs({trace->header.start, trace->header.last});
    if (!ticks.known()) return refuse("the run's own trace tells no rate of the ticks");
    set_host(trace);
    for (const std::uint64_t time : {times_.first, std::max(times_.last, times_.first + kSecondNs)}) {
      const double back = (static_cast<double>(last.raw_ns) - static_cast<double>(time)) * ticks_per_ns;
      add_pair(trace, time,
               ticks.monotonic_ns(static_cast<std::uint64_t>(std::max(1.0, static_cast<double>(last.ticks) - back))));
    }
    const double error_ns = static_cast<double>(first.between_ns + last.between_ns);
    const double back_ns = static_cast<double>(last.raw_ns - std::min(last.raw_ns, times_.first));
    clock_.note = fmt::format("mono_raw, {:.0f} s back: exact to about {:.2g} us", 1e-9 * back_ns,
                              1e-3 * error_ns * (1 + back_ns / length_ns));
  }

  // One tie tells where, two how fast as well.
  void by_ties() {
    std::vector<ClockTie> ties = times_.ties;
    std::sort(ties.begin(), ties.end(), [](const ClockTie& l, const ClockTie& r) { return l.time < r.time; });
    const RunFile* trace = beside(run_, ties.front().monotonic_ns, ties.back().monotonic_ns, &ClockPair::monotonic_ns);
    if (ties.front().ticks != 0) trace = beside(run_, ties.front().ticks, ties.back().ticks, &ClockPair::ticks);
    TickClock ticks;
    if (trace != nullptr) ticks.set_pairs({trace->header.start, trace->header.last});
    const auto mono = [&](const ClockTie& tie) {
      return tie.ticks == 0 ? tie.monotonic_ns : ticks.monotonic_ns(tie.ticks);
    };
    if (ties.front().ticks != 0 && !ticks.known())
      return refuse("it is tied to ticks, and no trace of the probe in the run tells what they are");
    set_host(trace);
    const ClockTie &first = ties.front(), &last = ties.back();
    add_pair(trace, first.time, mono(first));
    const bool has_rate = last.time > first.time + kSecondNs / 10 && mono(last) > mono(first);
    const double rate =
        has_rate ? static_cast<double>(mono(last) - mono(first)) / static_cast<double>(last.time - first.time) : 1;
    if (has_rate && rate < kMostRate && rate > 1 / kMostRate)
      add_pair(trace, last.time, mono(last));
    else if (times_.form != LineTime::kTicks)
      add_pair(trace, first.time + kSecondNs, mono(first) + kSecondNs);
    else
      return refuse("one line ties its ticks to ours, and two are needed for a rate");
    const double spread = static_cast<double>(times_.last - times_.first);
    clock_.note =
        fmt::format("its clock is tied by {} line{} of trace_marker{}", ties.size(), ties.size() == 1 ? "" : "s",
                    times_.clock == "local" && spread > 0 ? "; local clocks may differ between CPUs" : "");
  }

  const TraceTimes& times_;
  const RunClocks& run_;
  KernelClock clock_;
};

std::optional<std::uint64_t> told(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + name.size());
  return take_number(text, kMostNs);
}

}  // namespace

std::optional<ClockTie> clock_tie(const KernelLine& line) {
  if (line.event != "tracing_mark_write" && line.event != "print" && line.event != "0") return std::nullopt;
  const std::size_t at = line.text.find("hostprobe ");
  if (at == std::string_view::npos) return std::nullopt;
  ClockTie tie{line.time, told(line.text.substr(at), " ticks=").value_or(0),
               told(line.text.substr(at), " monotonic_ns=").value_or(0)};
  if (tie.ticks != 0) tie.monotonic_ns = 0;
  return tie.ticks == 0 && tie.monotonic_ns == 0 ? std::nullopt : std::optional(tie);
}

KernelClock join_clock(const TraceTimes& times, const RunClocks& run) { return Joining(times, run).join(); }

bool is_kernel_clock(std::string_view name) {
  for (const char* known :
       {"local", "global", "counter", "uptime", "perf", "mono", "mono_raw", "boot", "tai", "x86-tsc"})
    if (name == known) return true;
  return false;
}

}  // namespace hostprobe::analysis
