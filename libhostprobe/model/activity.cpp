// activity.cpp: see activity.h.
#include "activity.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "nearly_sorted.h"
#include "trace/activity_file.h"

namespace hostprobe::analysis {
namespace {

ActivityType type_of(const Hook& hook) {
  return hook.type == kRowCopy   ? ActivityType::kCopy
         : hook.type == kRowFill ? ActivityType::kFill
                                 : ActivityType::kKernel;
}

// Names of NCCL's kernels since 2.0: ncclAllReduceRingLLKernel_sum_f32, ncclKernel_AllReduce_…, ncclDevKernel_….
bool is_collective(std::string_view name) { return name.starts_with("nccl"); }

class ProfileStreams {
 public:
  explicit ProfileStreams(const Trace& trace) : trace_(trace), ticks_(trace.clock) {}

  DeviceTimeline read() {
    for (const auto& [key, thread] : trace_.threads)
      if (is_stream(key)) add_stream(thread);
    if (!device_.streams.empty()) device_.source = ActivitySource::kProfile;
    return std::move(device_);
  }

 private:
  void add_stream(const Thread& thread) {
    for (const Slice& slice : thread.slices)
      for (const Record& record : slice.records()) add_record(record);
  }

  void add_record(const Record& record) {
    const Hook* hook = trace_.hook_of(record);
    if (hook == nullptr || static_cast<Family>(hook->family) != Family::kGpu) return;
    Activity activity;
    activity.type = type_of(*hook);
    activity.begin_ns = ticks_.since_first_ns(record.begin_ticks);
    activity.end_ns = ticks_.since_first_ns(record.end_ticks);
    activity.stream = stream_of(record.b);
    activity.name = name_of(record.a);
    if (record.c != 0) {
      activity.launch_tid = static_cast<std::uint32_t>(record.e);
      activity.launch_ns = ticks_.since_first_ns(record.c);
    }
    activity.bytes = record.d;
    activity.correlation = static_cast<std::uint32_t>(record.e >> 32);
    activity.collective = is_collective(device_.names[activity.name]);
    device_.activities.push_back(activity);
  }

  std::uint32_t stream_of(std::uint64_t pair) {
    const auto [at, is_new] = stream_at_.try_emplace(pair, static_cast<std::uint32_t>(device_.streams.size()));
    if (is_new) device_.streams.push_back({static_cast<std::uint32_t>(pair >> 32), pair & 0xffffffffu});
    return at->second;
  }

  std::uint32_t name_of(std::uint64_t id) {
    const auto [at, is_new] = name_at_.try_emplace(id, static_cast<std::uint32_t>(device_.names.size()));
    if (is_new) device_.names.emplace_back(trace_.strings.text(id));
    return at->second;
  }

  const Trace& trace_;
  TickReader ticks_;
  DeviceTimeline device_;
  std::unordered_map<std::uint64_t, std::uint32_t> stream_at_, name_at_;
};

// Times of the simulated node are CLOCK_MONOTONIC of this machine; the trace of a simulated host has a clock that is wrong on
// purpose, and only the ticks to go by.
class ActivityClock {
 public:
  ActivityClock(const Trace& trace, const ActivityHead& head) : trace_(trace), head_(head) {
    first_ns_ = trace.clock.monotonic_ns(trace.clock.first_ticks());
    by_ticks_ =
        std::string_view(trace.header.host, strnlen(trace.header.host, sizeof trace.header.host)).find("-sim") !=
        std::string_view::npos;
    const double ns = static_cast<double>(head.last_ns - head.start_ns);
    ticks_per_ns_ = ns >= kLeastNs ? static_cast<double>(head.last_ticks - head.start_ticks) / ns
                                   : 1e9 / std::max(1.0, trace.clock.length_ns(1e9));
  }

  double since_first_ns(std::uint64_t monotonic_ns) const {
    if (!by_ticks_) return static_cast<double>(static_cast<std::int64_t>(monotonic_ns - first_ns_));
    const double since_start_ns = static_cast<double>(static_cast<std::int64_t>(monotonic_ns - head_.start_ns));
    const auto ticks =
        head_.start_ticks + static_cast<std::uint64_t>(static_cast<std::int64_t>(since_start_ns * ticks_per_ns_));
    return trace_.clock.span_ns(trace_.clock.first_ticks(), ticks);
  }

 private:
  static constexpr double kLeastNs = 1e8;  // below, the two readings are too near each other to tell the rate

  const Trace& trace_;
  const ActivityHead& head_;
  std::uint64_t first_ns_ = 0;
  double ticks_per_ns_ = 0;
  bool by_ticks_ = false;
};

class SimulatedStreams {
 public:
  SimulatedStreams(const Trace& trace, ActivityFile file) : file_(std::move(file)), clock_(trace, file_.head()) {}

  DeviceTimeline read() {
    device_.source = ActivitySource::kSimulated;
    device_.names.emplace_back();
    const ActivityTotal* totals = file_.head().without_row;
    device_.kernels_without_time = totals[kActivityKernel].count;
    device_.ns_without_time = static_cast<double>(totals[kActivityKernel].ns);
    device_.others_without_time = totals[kActivityCopy].count + totals[kActivityFill].count;
    device_.activities.reserve(file_.rows());
    file_.walk([this](std::uint32_t number, std::string_view text) { add_name(number, text); },
               [this](const ActivityRow& row) { add_row(row); });
    device_.damaged = file_.damaged();
    return std::move(device_);
  }

 private:
  void add_name(std::uint32_t number, std::string_view text) {
    if (number != device_.names.size()) return;  // they are numbered from 1 in the order in which they are written
    device_.names.emplace_back(text);
  }

  void add_row(const ActivityRow& row) {
    Activity activity;
    activity.type = row.type == kActivityCopy   ? ActivityType::kCopy
                    : row.type == kActivityFill ? ActivityType::kFill
                                                : ActivityType::kKernel;
    activity.collective = (row.flags & kActivityCollective) != 0;
    activity.begin_ns = clock_.since_first_ns(row.begin_ns);
    activity.end_ns = clock_.since_first_ns(row.end_ns);
    activity.launch_ns = clock_.since_first_ns(row.launch_ns);
    activity.launch_tid = row.launch_tid;
    activity.bytes = row.bytes;
    activity.name = row.name < device_.names.size() ? row.name : 0;
    const std::uint64_t key = pack_pair(row.device, row.stream);
    const auto [at, is_new] = stream_at_.try_emplace(key, static_cast<std::uint32_t>(device_.streams.size()));
    if (is_new) device_.streams.push_back({row.device, row.stream});
    activity.stream = at->second;
    device_.activities.push_back(activity);
  }

  ActivityFile file_;
  ActivityClock clock_;
  DeviceTimeline device_;
  std::unordered_map<std::uint64_t, std::uint32_t> stream_at_;
};

}  // namespace

DeviceTimeline device_timeline(const Trace& trace) {
  DeviceTimeline device = ProfileStreams(trace).read();
  if (device.source == ActivitySource::kNone)
    if (std::optional<ActivityFile> file = activities_of(trace))
      device = SimulatedStreams(trace, std::move(*file)).read();
  const auto begin = device.activities.begin(), end = device.activities.end();
  const auto is_before = [](const Activity& l, const Activity& r) { return l.begin_ns < r.begin_ns; };
  if (!move_into_order(begin, end, is_before)) std::stable_sort(begin, end, is_before);
  return device;
}

}  // namespace hostprobe::analysis
