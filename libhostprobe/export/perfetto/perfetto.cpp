// perfetto.cpp: a run in Perfetto's own form: what any timeline has (timeline.h), and the scheduler's tracks.
//
// Room 3. Written packet by packet. Times are CLOCK_MONOTONIC, which Perfetto is told to be its clock.
#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <unordered_map>

#include "export/timeline.h"
#include "scheduler.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr std::uint64_t kOtherId = 10'000'000;  // above the ids that a kernel gives
constexpr int kNoRank = 1 << 20;

enum PerfettoClock : std::uint64_t { kRealtime = 1, kMonotonic = 3, kBoottime = 6 };
enum PointType : std::uint64_t { kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4 };
enum TrackEvent : std::uint32_t {
  kEventCategory = 3,
  kEventArgument = 4,
  kEventType = 9,
  kEventName = 10,
  kEventTrack = 11,
  kEventValue = 44,
  kEventFlow = 47,
  kEventFlowEnd = 48,
};
enum TrackDescriptor : std::uint32_t {
  kTrackUuid = 1,
  kTrackName = 2,
  kTrackProcess = 3,
  kTrackThread = 4,
  kTrackParent = 5,
  kTrackCounter = 8,
};

// A number, a text or what is neither, out of JSON.
void add_value(ProtobufMessage& argument, std::string_view json) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(json.data(), json.data() + json.size(), number);
  if (error == std::errc() && end == json.data() + json.size()) return argument.add(3, number);
  const bool is_text = json.size() >= 2 && json.front() == '"' && json.find('\\') == std::string_view::npos;
  if (is_text) return argument.add_text(6, printable(json.substr(1, json.size() - 2)));
  argument.add_text(9, printable(json));
}

class PerfettoWriter : public TimelineWriter {
 public:
  PerfettoWriter(const PerfettoAxis& axis, PerfettoPackets& out) : axis_(axis), out_(out), scheduler_(axis, out) {
    write_clocks();
  }

  void begin_process(const Trace& trace, const std::string& name) override {
    trace_ = &trace;
    out_.begin_sequence();
    tracks_.clear();
    const std::uint32_t pid = axis_.kernel_id(trace.header.pid);
    is_own_ = axis_.is_here(trace) && pids_.insert(pid).second;
    pid_ = is_own_ ? pid : other_id();
    process_track_ = ++last_track_;
    ProtobufMessage process, descriptor;
    process.add(1, pid_);
    process.add_text(6, printable(name));
    process.add(3, static_cast<std::uint64_t>(trace.header.rank < 0 ? kNoRank : trace.header.rank));
    descriptor.add(kTrackUuid, process_track_);
    descriptor.add(kTrackProcess, process);
    add_descriptor(descriptor);
  }

  void add_row(std::uint64_t row, const std::string& name) override {
    ProtobufMessage descriptor;
    descriptor.add(kTrackUuid, track_of(row));
    if (row < kFirstLane) {
      ProtobufMessage thread;
      thread.add(1, pid_);
      thread.add(2, is_own_ ? axis_.kernel_id(static_cast<std::uint32_t>(row)) : other_id());
      thread.add_text(5, printable(name));
      descriptor.add(kTrackThread, thread);
    } else {
      descriptor.add_text(kTrackName, printable(name));
      descriptor.add(kTrackParent, process_track_);
    }
    add_descriptor(descriptor);
  }

  void add_slice(const TimelineSlice& slice) override {
    ProtobufMessage begin = event(kBegin, slice.row);
    if (slice.to_begin) begin.add_fixed(kEventFlowEnd, lead(*slice.to_begin));
    begin.add(kEventName, out_.number_of(kEventNames, slice.name));
    begin.add(kEventCategory, out_.number_of(kCategoryNames, slice.category));
    for (const SliceArgument& one : slice.arguments) {
      ProtobufMessage argument;
      argument.add(1, out_.number_of(kArgumentNames, one.name));
      add_value(argument, one.value);
      begin.add(kEventArgument, argument);
    }
    add(slice.begin_ns, begin);
    if (slice.to_end) {
      ProtobufMessage woken = event(kInstant, slice.row);
      woken.add_fixed(kEventFlowEnd, lead(*slice.to_end));
      woken.add(kEventName, out_.number_of(kEventNames, "woken"));
      add(std::max({slice.to_end->ns, slice.begin_ns, slice.end_ns - 1}), woken);
    }
    add(slice.end_ns, event(kEnd, slice.row));
  }

  void add_number(std::string_view name, std::int64_t ns, double value) override {
    const auto [found, is_new] = curves_.try_emplace({process_track_, std::string(name)}, last_track_ + 1);
    if (is_new) {
      ProtobufMessage descriptor;
      descriptor.add(kTrackUuid, ++last_track_);
      descriptor.add_text(kTrackName, printable(name));
      descriptor.add(kTrackParent, process_track_);
      descriptor.add(kTrackCounter, ProtobufMessage());
      add_descriptor(descriptor);
    }
    ProtobufMessage point;
    point.add(kEventType, kCounter);
    point.add(kEventTrack, found->second);
    point.add_double(kEventValue, value);
    add(ns, point);
  }

  std::string add_machine(const Trace& trace) override { return scheduler_.add(trace, kept()); }
  void finish() override { out_.finish(); }

 private:
  void write_clocks() {
    out_.begin_sequence();
    ProtobufMessage snapshot;
    const auto clock = [&snapshot](std::uint64_t id, std::uint64_t ns) {
      ProtobufMessage one;
      one.add(1, id);
      one.add(2, ns);
      snapshot.add(1, one);
    };
    clock(kBoottime, axis_.begin_ns());
    clock(kMonotonic, axis_.begin_ns());
    clock(kRealtime, axis_.begin_realtime_ns());
    snapshot.add(2, kBoottime);
    ProtobufMessage packet;
    packet.add(kPacketTimestamp, axis_.begin_ns());
    packet.add(kPacketClockSnapshot, snapshot);
    out_.add(std::move(packet));
  }

  ProtobufMessage event(PointType type, std::uint64_t row) {
    ProtobufMessage message;
    message.add(kEventType, type);
    message.add(kEventTrack, track_of(row));
    return message;
  }

  // Where an arrow begins lies inside the slice of whoever launched or woke; it goes to whoever has this number too.
  std::uint64_t lead(const Flow& from) {
    ProtobufMessage begin = event(kInstant, from.row);
    begin.add(kEventName, out_.number_of(kEventNames, from.name));
    begin.add_fixed(kEventFlow, ++flows_);
    add(from.ns, begin);
    return flows_;
  }

  void add(std::int64_t ns, const ProtobufMessage& track_event) {
    ProtobufMessage packet;
    packet.add(kPacketTimestamp, axis_.moment(*trace_, ns));
    packet.add(kPacketTrackEvent, track_event);
    out_.add(std::move(packet));
  }
  void add_descriptor(const ProtobufMessage& descriptor) {
    ProtobufMessage packet;
    packet.add(kPacketTrackDescriptor, descriptor);
    out_.add(std::move(packet));
  }

  std::uint64_t track_of(std::uint64_t row) {
    const auto [found, is_new] = tracks_.try_emplace(row, last_track_ + 1);
    if (is_new) ++last_track_;
    return found->second;
  }
  std::uint64_t other_id() { return kOtherId + ++others_; }

  const PerfettoAxis& axis_;
  PerfettoPackets& out_;
  PerfettoScheduler scheduler_;
  const Trace* trace_ = nullptr;
  std::set<std::uint32_t> pids_;
  bool is_own_ = true;  // its ids are those of the kernel
  std::uint64_t pid_ = 0, process_track_ = 0, last_track_ = 0, flows_ = 0, others_ = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> tracks_;  // of the process, by row
  std::map<std::pair<std::uint64_t, std::string>, std::uint64_t> curves_;
};

std::vector<std::string> write(const ExportRequest& request, const Sink& sink, const ExportProgress& progress) {
  const PerfettoAxis axis(request.run);
  PerfettoPackets packets(sink);
  PerfettoWriter out(axis, packets);
  return write_timeline(request, progress, out);
}

}  // namespace

ExportForm perfetto_form() {
  return {"--perfetto",
          "The same in Perfetto's own form: smaller, and with the scheduler's tracks where it was recorded; all hosts "
          "by themselves, in one archive, where PATH ends in .tar",
          ExportKind::kTimeline, write};
}

}  // namespace hostprobe::analysis
