// activity.cpp: see activity.h.
#include "activity.h"

#include <algorithm>
#include <unordered_map>

namespace hostprobe::analysis {
namespace {

ActivityType type_of(const Hook& hook) {
  return hook.type == kRowCopy   ? ActivityType::kCopy
         : hook.type == kRowFill ? ActivityType::kFill
                                 : ActivityType::kKernel;
}

class ProfileStreams {
 public:
  explicit ProfileStreams(const Trace& trace) : trace_(trace), ticks_(trace.clock) {}

  DeviceTimeline read() {
    for (const auto& [key, thread] : trace_.threads)
      if (is_stream(key)) add_stream(thread);
    std::stable_sort(device_.activities.begin(), device_.activities.end(),
                     [](const Activity& l, const Activity& r) { return l.begin_ns < r.begin_ns; });
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

}  // namespace

DeviceTimeline device_timeline(const Trace& trace) { return ProfileStreams(trace).read(); }

}  // namespace hostprobe::analysis
