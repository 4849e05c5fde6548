// account.cpp: see account.h.
#include "account.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "activity_file.h"
#include "model/activity.h"

namespace hostprobe::analysis {
namespace {

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

class AccountStreams {
 public:
  AccountStreams(const Trace& trace, ActivityFile file) : file_(std::move(file)), clock_(trace, file_.head()) {}

  DeviceTimeline read() {
    device_.source = ActivitySource::kAccount;
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

DeviceTimeline read_account(const Trace& trace) {
  std::optional<ActivityFile> file = activities_of(trace);
  return file ? AccountStreams(trace, std::move(*file)).read() : DeviceTimeline{};
}

}  // namespace

void read_accounts() { set_account_reader(read_account); }

}  // namespace hostprobe::analysis
