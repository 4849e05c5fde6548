// ascend_lanes.cpp: a profile of Ascend's devices, whose lanes become the one process that they are of.
//
// Room 3. Lanes stand in the file as processes: Python, CANN, the device, communication. A lane's id is the process's with ten more bits,
// where the id would else be none of a thread in it.
#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "collective_names.h"
#include "profile.h"

namespace hostprobe::analysis {
namespace {

using Field = ProfileField;

constexpr int kLaneBits = 10, kDeviceBits = 5;
constexpr std::int64_t kMostPid = 1 << 22;  // of Linux
constexpr std::uint32_t kStreamOfLane = 1 << 15;
constexpr std::uint64_t kArrowId = std::uint64_t{1} << 63;  // correlations of calls that only an arrow tells of
constexpr const char* kArrowCall = "torch_to_npu";

std::uint64_t arrow_id(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

// "3" of "NPU 3"; nothing: there is none.
std::optional<std::uint32_t> device_in(const std::string& label) {
  const std::size_t digits = label.find_last_not_of("0123456789") + 1;
  const auto number = whole_number(std::string_view(label).substr(digits));
  if (!label.starts_with("NPU") || !number || *number < 0 || *number > 1 << 16) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

}  // namespace

class AscendLanes {
 public:
  explicit AscendLanes(Profile& profile) : profile_(profile) {}

  void finish() {
    join_lanes();
    set_devices();
    for (auto& [pid, process] : profile_.processes_)
      for (std::uint32_t i = 0; i < process.calls.size(); ++i)
        if (process.calls[i].correlation != 0) calls_[process.calls[i].correlation].push_back({&process, i});
    add_collectives();
    add_arrows();
  }

 private:
  struct Call {
    ProfileProcess* process;
    std::uint32_t index;
  };

  // Of a lane's id. Small ones may be ids as they are: then the process has no thread of the number without the lane's bits.
  std::string process_id(const std::string& lane) const {
    const auto number = whole_number(lane);
    if (!number || *number <= 0) return lane;
    const std::string packed = std::to_string(*number >> kLaneBits);
    return *number > kMostPid || main_threads_.contains(packed) ? packed : lane;
  }

  void join_lanes() {
    for (const auto& [pid, process] : profile_.processes_)
      for (const auto& [tid, index] : process.thread_at) main_threads_.insert(tid);
    ProfileProcesses lanes = std::move(profile_.processes_);
    profile_.processes_.clear();
    for (auto* const lane : processes_in_order(lanes)) {
      ProfileProcess& own = profile_.process_of(process_id(lane->first), lane->second.at);
      profile_.append_process(own, lane->second, {});
    }
    // Lanes and "Thread 4711" have no names of the program's.
    profile_.process_names_.clear();
    std::erase_if(profile_.thread_names_, [](const auto& one) { return one.second.starts_with("Thread "); });
    std::map<std::pair<std::string, std::string>, std::string> names;
    for (auto& [thread, name] : profile_.thread_names_)
      names[{process_id(thread.first), thread.second}] = std::move(name);
    groups_ = std::move(profile_.thread_names_);
    profile_.thread_names_ = std::move(names);
  }

  std::uint32_t device_of(const std::string& lane) const {
    if (const auto label = profile_.ascend_.labels.find(lane); label != profile_.ascend_.labels.end())
      if (const auto device = device_in(label->second)) return *device;
    const auto number = whole_number(lane);
    const bool is_packed = number && process_id(lane) != lane;
    return is_packed ? static_cast<std::uint32_t>(*number & ((1 << kDeviceBits) - 1)) : 0;
  }

  void set_devices() {
    std::unordered_map<std::uint32_t, std::uint32_t> known;
    for (ProfileActivity& activity : profile_.activities_) {
      const auto [found, fresh] = known.try_emplace(activity.owner);
      if (fresh) found->second = device_of(profile_.names_[activity.owner]);
      activity.device = found->second;
    }
  }

  // The last of the process before the work, of any process where it has none.
  const Call* call_of(std::uint64_t correlation, const std::string& pid, std::int64_t before_ns) const {
    const auto found = calls_.find(correlation);
    if (correlation == 0 || found == calls_.end()) return nullptr;
    const Call* best = nullptr;
    const auto own = profile_.processes_.find(pid);
    const ProfileProcess* const wanted = own == profile_.processes_.end() ? nullptr : &own->second;
    const auto rank = [&](const Call& call) {
      const ProfileSpan& span = call.process->calls[call.index].span;
      return std::tuple(call.process == wanted, span.begin_ns <= before_ns, span.begin_ns);
    };
    for (const Call& call : found->second)
      if (best == nullptr || rank(*best) < rank(call)) best = &call;
    return best;
  }

  // The device does an operation in many small tasks; their call is the operation's.
  void add_collectives() {
    std::unordered_map<std::uint64_t, std::uint32_t> streams;
    for (const AscendCollective& one : profile_.ascend_.collectives)
      if (one.correlation != 0) streams.try_emplace(one.correlation, kStreamOfLane + stream_of_lane(one));
    std::erase_if(profile_.activities_, [&](const ProfileActivity& task) {
      const auto stream = streams.find(task.correlation);
      if (task.correlation == 0 || stream == streams.end()) return false;
      stream->second = std::min(stream->second, task.stream);
      return true;
    });
    for (const AscendCollective& one : profile_.ascend_.collectives) {
      const auto stream = streams.find(one.correlation);
      add_activity(one, stream == streams.end() ? kStreamOfLane + stream_of_lane(one) : stream->second);
      add_collective(one);
    }
  }

  std::uint32_t stream_of_lane(const AscendCollective& one) const {
    return static_cast<std::uint32_t>(whole_number(profile_.names_[one.tid]).value_or(0)) % kStreamOfLane;
  }

  void add_activity(const AscendCollective& one, std::uint32_t stream) {
    ProfileActivity activity;
    activity.span = {one.begin_ns, one.duration_ns,
                     profile_.name_of(std::string(hcom_operation(profile_.names_[one.name])))};
    activity.device = device_of(profile_.names_[one.pid]);
    activity.stream = stream;
    activity.owner = one.pid;
    activity.correlation = one.correlation;
    profile_.activities_.push_back(activity);
  }

  // Which one it is on its communicator is counted later, with those of ranks whose profile begins with the same step.
  void add_collective(const AscendCollective& one) {
    const std::string& lane = profile_.names_[one.pid];
    const std::string operation =
        collective_operation(hcom_operation(profile_.names_[one.name]).substr(sizeof("hcom_") - 1));
    if (operation.empty()) return;
    const Call* const caller = call_of(one.correlation, process_id(lane), one.begin_ns);
    if (caller == nullptr)
      return profile_.left_out_->add("collectives of HCCL whose call on the host is not in the profile");
    const ProfileCall& host = caller->process->calls[caller->index];
    ProfileCollective call;
    call.span = {host.span.begin_ns, host.span.duration_ns, profile_.name_of(operation)};
    call.thread = host.thread;
    const auto group = groups_.find({lane, profile_.names_[one.tid]});
    call.communicator = group == groups_.end() ? 0 : std::max<std::uint64_t>(arrow_id(group->second), 1);
    call.elements = one.elements;
    if (operation == "AlltoAll" && one.size > 0) call.elements /= static_cast<std::uint64_t>(one.size);
    call.type = one.type;
    call.size = one.size;
    caller->process->collectives.push_back(call);
  }

  // Where CANN's own calls were not recorded, the arrow to the work tells when it was asked for, not how long that took.
  void add_arrows() {
    std::unordered_map<std::uint64_t, const AscendArrow*> begins;
    for (const AscendArrow& arrow : profile_.ascend_.begins) begins.try_emplace(arrow.id, &arrow);
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::int64_t>, std::uint64_t> ends;
    for (const AscendArrow& arrow : profile_.ascend_.ends)
      ends.try_emplace({arrow.pid, arrow.tid, arrow.at_ns}, arrow.id);
    if (begins.empty() || ends.empty()) return;
    std::uint64_t number = 0;
    for (ProfileActivity& activity : profile_.activities_) {
      if (calls_.contains(activity.correlation)) continue;
      const auto end =
          ends.find({activity.owner, profile_.name_of(std::to_string(activity.stream)), activity.span.begin_ns});
      const auto begin = end == ends.end() ? begins.end() : begins.find(end->second);
      if (begin == begins.end()) continue;
      const AscendArrow& from = *begin->second;
      ProfileProcess& process = profile_.process_of(process_id(profile_.names_[from.pid]), kNoPlace);
      activity.correlation = kArrowId | ++number;
      process.calls.push_back({{from.at_ns, 0, profile_.name_of(kArrowCall)},
                               profile_.thread_of(process, profile_.names_[from.tid], kNoPlace),
                               activity.correlation});
      profile_.left_out_->add("durations of launches that only an arrow tells of, taken for 0");
    }
  }

  Profile& profile_;
  std::unordered_set<std::string> main_threads_;  // ids of any thread: one of them may be a process's own
  std::map<std::pair<std::string, std::string>, std::string> groups_;  // names of lanes' threads
  std::unordered_map<std::uint64_t, std::vector<Call>> calls_;         // by correlation
};

void Profile::add_ascend(const ProfileEvent& event) {
  ProfileEvent own = event;
  const AscendKind kind = to_kineto(own);
  if (kind == AscendKind::kNone) return left_out_->add_at("events of category ''", event.at);
  ascend_.is_ascend = true;
  if (kind == AscendKind::kSignal) return left_out_->add_at("tasks of the device that wait or signal", event.at);
  if (kind == AscendKind::kEvent) return add(own);
  ProfileSpan span;
  if (kind == AscendKind::kRepeated || !add_span(own, span)) return;
  AscendCollective one{span.begin_ns, span.duration_ns, span.name, name_of(own[Field::kPid]),
                       name_of(own[Field::kTid])};
  one.correlation = correlation_of(own);
  one.elements = count_of(own, Field::kElementsIn);
  one.type = collective_type(own[Field::kDataType]);
  one.size = static_cast<int>(std::min<std::uint64_t>(count_of(own, Field::kGroupSize), 1 << 20));
  ascend_.collectives.push_back(one);
}

void Profile::add_arrow(const ProfileEvent& event) {
  const auto at = nanoseconds(event[Field::kTime]);
  if (!at || event[Field::kId].empty()) return;
  ascend_.is_ascend = true;
  auto& list = event[Field::kPhase] == "s" ? ascend_.begins : ascend_.ends;
  list.push_back({arrow_id(event[Field::kId]), *at, name_of(event[Field::kPid]), name_of(event[Field::kTid])});
}

void Profile::finish_ascend() {
  if (ascend_.is_ascend) AscendLanes(*this).finish();
}

}  // namespace hostprobe::analysis
