// activity.cpp: see activity.h.
#include "activity.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "nearly_sorted.h"
#include "trace/trace.h"

namespace hostprobe::analysis {
namespace {

ActivityType type_of(const Hook& hook) {
  return hook.type == kRowCopy   ? ActivityType::kCopy
         : hook.type == kRowFill ? ActivityType::kFill
                                 : ActivityType::kKernel;
}

// Names of NCCL's kernels since 2.0: ncclAllReduceRingLLKernel_sum_f32, ncclKernel_AllReduce_…, ncclDevKernel_…; and of HCCL's: hcom_allReduce.
bool is_collective(std::string_view name) { return name.starts_with("nccl") || name.starts_with("hcom_"); }

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

AccountReader g_account_reader = nullptr;

}  // namespace

void put_in_order(std::vector<Activity>& activities) {
  const auto is_before = [](const Activity& l, const Activity& r) { return l.begin_ns < r.begin_ns; };
  if (!move_into_order(activities.begin(), activities.end(), is_before))
    std::stable_sort(activities.begin(), activities.end(), is_before);
}

void set_account_reader(AccountReader reader) { g_account_reader = reader; }

DeviceTimeline exact_timeline(const Trace& trace) {
  DeviceTimeline device = ProfileStreams(trace).read();
  if (device.source == ActivitySource::kNone && g_account_reader != nullptr) device = g_account_reader(trace);
  put_in_order(device.activities);
  return device;
}

}  // namespace hostprobe::analysis
