// gpu_timeline.cpp: see gpu_timeline.h.
#include "gpu_timeline.h"

#include <algorithm>
#include <cmath>

#include "gpu_replay.h"
#include "timeline.h"

namespace hostprobe::analysis {
namespace {

constexpr double kFewestTimed =
    0.5;  // of the time of all ops, that lasts as long as timed ones of its kind: below, there are bounds only

ActivityType type_of(const GpuOp& op) {
  return op.type == GpuOpType::kCopy   ? ActivityType::kCopy
         : op.type == GpuOpType::kFill ? ActivityType::kFill
                                       : ActivityType::kKernel;
}

Activity launched_by(const GpuWork& work, const GpuOp& op) {
  Activity activity;
  activity.type = type_of(op);
  activity.stream = op.stream;
  activity.launch_tid = op.tid;
  activity.launch_ns = op.begin_ns;
  activity.name = work.kinds[op.kind].name;
  activity.collective = op.collective;
  activity.bytes = op.bytes;
  activity.kernels = op.kernels;
  return activity;
}

DeviceTimeline described(const GpuWork& work, ActivitySource source) {
  DeviceTimeline device;
  device.source = source;
  device.names = work.names;
  for (const GpuStream& stream : work.streams) device.streams.push_back({stream.device, stream.handle});
  return device;
}

// A timed op may seem to have begun before what it waited for ended: by chance it was shorter than others of its kind.
double begin_of(const OpTimes& times, const OpTime& time) {
  const double after_ns = time.bound_by == kNoOp ? time.begin_ns : times[time.bound_by].end_ns;
  return after_ns <= time.end_ns ? std::max(time.begin_ns, after_ns) : time.begin_ns;
}

// The last work in its stream up to that op, which may be a mark or a wait for another stream; nullptr: none.
const GpuOp* work_until(const GpuWork& work, std::uint32_t number) {
  const std::vector<std::uint32_t>& ops = work.streams[work.ops[number].stream].ops;
  for (auto at = std::upper_bound(ops.begin(), ops.end(), number); at != ops.begin();)
    if (const GpuOp& op = work.ops[*--at]; is_work(op.type)) return &op;
  return nullptr;
}

std::vector<GpuWait> waits_of(const GpuWork& work) {
  std::vector<GpuWait> waits;
  for (const GpuSync& sync : work.syncs)
    if (const GpuOp* last = work_until(work, sync.op); last != nullptr)
      waits.push_back({sync.begin_ns, last->begin_ns, last->tid});
  std::sort(waits.begin(), waits.end(), [](const GpuWait& l, const GpuWait& r) { return l.begin_ns < r.begin_ns; });
  return waits;
}

DeviceTimeline replayed(const GpuWork& work, const OpTimes& times) {
  DeviceTimeline device = described(work, ActivitySource::kEvents);
  device.activities.reserve(work.ops.size());
  for (std::size_t i = 0; i < work.ops.size(); ++i) {
    if (!is_work(work.ops[i].type)) continue;
    Activity activity = launched_by(work, work.ops[i]);
    activity.begin_ns = begin_of(times, times[i]);
    activity.end_ns = times[i].end_ns;
    activity.error_ns = times[i].end_error_ns;
    activity.unknown = !times[i].is_known();
    device.activities.push_back(activity);
  }
  put_in_order(device.activities);
  device.waits = waits_of(work);
  return device;
}

// Whether most of what ran is of kinds that were timed.
bool is_timed_enough(const GpuWork& work, const OpTimes& times) {
  if (work.timed == 0) return false;
  double all_ns = 0, known_ns = 0;
  for (std::size_t i = 0; i < work.ops.size(); ++i) {
    if (!is_work(work.ops[i].type)) continue;
    const double ns = times[i].end_ns - times[i].begin_ns;
    all_ns += ns;
    if (times[i].is_known()) known_ns += ns;
  }
  return known_ns >= kFewestTimed * all_ns;
}

// One piece from the first launch into an empty GPU until it is known to be empty again: begun for certain, and unknown from then on.
class Bounds {
 public:
  explicit Bounds(const GpuWork& work) : work_(work), device_(described(work, ActivitySource::kBounds)) {
    is_full_.assign(work.streams.size(), kNoOp);
  }

  DeviceTimeline read() {
    std::size_t next = 0;
    for (std::uint32_t i = 0; i < work_.ops.size(); ++i) {
      const GpuOp& op = work_.ops[i];
      for (; next < work_.syncs.size() && work_.syncs[next].end_ns <= op.begin_ns; ++next) drain(work_.syncs[next]);
      if (op.type == GpuOpType::kJoin || op.type == GpuOpType::kMark) {
        if (is_full_[op.stream] != kNoOp) is_full_[op.stream] = i;
        continue;
      }
      add(i);
    }
    for (; next < work_.syncs.size(); ++next) {
      last_ns_ = std::max(last_ns_, work_.syncs[next].end_ns);
      drain(work_.syncs[next]);
    }
    if (full_ > 0) end(last_ns_);
    put_in_order(device_.activities);
    return std::move(device_);
  }

 private:
  void add(std::uint32_t number) {
    const GpuOp& op = work_.ops[number];
    if (full_ == 0) {
      piece_ = launched_by(work_, op);
      piece_.begin_ns = op.told_ns;
      piece_.unknown = true;
      piece_.kernels = 0;
    }
    piece_.kernels += op.type == GpuOpType::kKernel || op.type == GpuOpType::kGraph ? op.kernels : 0;
    full_ += is_full_[op.stream] == kNoOp;
    is_full_[op.stream] = number;
    last_ns_ = std::max(last_ns_, op.end_ns);
  }
  void drain(const GpuSync& sync) {
    std::uint32_t& own = is_full_[work_.ops[sync.op].stream];
    if (own == kNoOp || own > sync.op) return;
    own = kNoOp;
    if (--full_ == 0) end(sync.end_ns);
  }
  void end(double at_ns) {
    piece_.end_ns = std::max(at_ns, piece_.begin_ns);
    device_.activities.push_back(piece_);
  }

  const GpuWork& work_;
  DeviceTimeline device_;
  std::vector<std::uint32_t> is_full_;  // of each stream the last op that may not have ended; kNoOp: all have
  std::uint32_t full_ = 0;              // streams
  Activity piece_;
  double last_ns_ = 0;
};

void move_by(DeviceTimeline& device, double ns) {
  for (Activity& activity : device.activities) {
    activity.begin_ns += ns;
    activity.end_ns += ns;
    activity.launch_ns += ns;
  }
  for (GpuWait& wait : device.waits) wait.begin_ns += ns, wait.launch_ns += ns;
}

}  // namespace

std::vector<DeviceTimeline> gpu_timelines(std::vector<GpuMember> members) {
  std::vector<const GpuWork*> works;
  for (GpuMember& member : members) {
    move_by(member.work, member.offset_ns);
    works.push_back(&member.work);
  }
  // Where nobody timed anything there are bounds, whatever a replay says.
  const bool any_timed = std::any_of(works.begin(), works.end(), [](const GpuWork* work) { return work->timed > 0; });
  const std::vector<OpTimes> times = any_timed ? replay_gpus(works) : std::vector<OpTimes>(works.size());
  std::vector<DeviceTimeline> devices;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const GpuWork& work = members[i].work;
    if (!work.any())
      devices.emplace_back();
    else
      devices.push_back(is_timed_enough(work, times[i]) ? replayed(work, times[i]) : Bounds(work).read());
    move_by(devices.back(), -members[i].offset_ns);
  }
  return devices;
}

DeviceTimeline gpu_timeline(const Timeline& timeline) {
  DeviceTimeline exact = exact_timeline(timeline.trace());
  if (exact.source != ActivitySource::kNone) return exact;
  std::vector<GpuMember> alone(1);
  alone[0].work = gpu_work(timeline);
  return std::move(gpu_timelines(std::move(alone))[0]);
}

}  // namespace hostprobe::analysis
