// profile.cpp: see profile.h.
#include "profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "collective_names.h"

namespace hostprobe::analysis {
namespace {

using Field = ProfileField;

constexpr std::uint32_t kMadeUpTid = 0x40000000;  // no kernel gives such ids, and no stream has one
constexpr std::string_view kStepName = "ProfilerStep#";
constexpr std::string_view kCollectiveAnnotation = "nccl:";

// What repeats other events, or is about the profiler: nothing is lost without it. Categories are compared as views: these know their
// length, and most differ by it alone. Each event is asked for a dozen of them.
bool is_known_and_unused(const ProfileEvent& event, std::string_view category) {
  return category == "ac2g" || category == "async_cpu_to_gpu" || category == "fwdbwd" || category == "async_gpu" ||
         category == "forward_backward" || category == "HostToDevice" || category == "async_task_queue" ||
         category == "MsTx" || (event[Field::kPhase] == "i" && event[Field::kPid] == "Traces");
}

// Calls of libc that wait. No profile of PyTorch has any; other sources that are read into one do.
bool is_wait_category(std::string_view category) { return category == kWaitCategory; }

bool is_call_category(std::string_view category) {
  return is_wait_category(category) || category.ends_with("_runtime") || category.ends_with("_driver") ||
         category == "Runtime";
}

bool is_range_category(std::string_view category) {
  return category == "cpu_op" || category == "user_annotation" || category == "python_function" ||
         category == "Operator" || category == "enqueue" || category == "dequeue" || category == "GC" ||
         category == kAscendRangeCategory;
}

RowType activity_type(std::string_view category) {
  if (category == "kernel" || category == "Kernel") return kRowKernel;
  if (category == "gpu_memcpy" || category == "Memcpy") return kRowCopy;
  if (category == "gpu_memset" || category == "Memset") return kRowFill;
  return kRowCall;
}

// "2400,1,1," of a list.
std::uint64_t packed_dim(const std::string& list) {
  std::uint64_t parts[3] = {1, 1, 1};
  std::size_t at = 0;
  for (std::uint64_t& part : parts) {
    const std::size_t comma = list.find(',', at);
    if (comma == std::string::npos) break;
    const auto value = whole_number(std::string_view(list).substr(at, comma - at));
    if (value && *value >= 0) part = static_cast<std::uint64_t>(*value);
    at = comma + 1;
  }
  if (list.empty()) return 0;
  return pack_dim(static_cast<std::uint32_t>(parts[0]), static_cast<std::uint32_t>(parts[1]),
                  static_cast<std::uint32_t>(parts[2]));
}

// Of the first of several shapes, "2 3 ,4 ,"; 0 where there is none.
std::uint64_t elements_of(const std::string& shapes) {
  std::uint64_t product = 0;
  std::size_t at = 0;
  const std::size_t end = std::min(shapes.find(','), shapes.size());
  while (at < end) {
    const std::size_t blank = std::min(shapes.find(' ', at), end);
    const auto value = whole_number(std::string_view(shapes).substr(at, blank - at));
    if (!value || *value < 0) return 0;
    const auto size = static_cast<std::uint64_t>(*value);
    if (__builtin_mul_overflow(at == 0 ? 1 : product, size, &product)) return 0;
    at = blank + 1;
  }
  return product;
}

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash == 0 ? 1 : hash;
}

int small_number(const std::string& text, int without) {
  const auto value = whole_number(text);
  return value && *value >= 0 && *value < 1 << 20 ? static_cast<int>(*value) : without;
}

// "GPU 3" is how some write the process that stands for a device.
int device_of(const std::string& pid) {
  constexpr std::string_view kGpu = "GPU ";
  return small_number(pid.starts_with(kGpu) ? pid.substr(kGpu.size()) : pid, 0);
}

// Nothing: it is none.
std::optional<std::uint32_t> process_id(const std::string& text) {
  const auto number = whole_number(text);
  if (!number || *number < 0 || *number >= std::int64_t{kMadeUpTid}) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}
std::optional<std::uint32_t> thread_id(const std::string& text) {
  const auto id = process_id(text);
  return id == 0 ? std::nullopt : id;
}

// "thread 3126441 (pt_autograd_0)" is how the profiler writes a thread's name.
std::string thread_name(const std::string& text) {
  const auto open = text.find(" (");
  if (!text.starts_with("thread ") || open == std::string::npos || text.back() != ')') return text;
  return text.substr(open + 2, text.size() - open - 3);
}

}  // namespace

void Profile::add(const ProfileEvent& event) {
  const std::string_view phase = event[Field::kPhase], category = event[Field::kCategory];
  if (phase == "M") return add_name(event);
  if (is_known_and_unused(event, category)) return;
  if (category == "async_npu" && (phase == "s" || phase == "f")) return add_arrow(event);
  if (category.empty() && phase == "X") return add_ascend(event);
  if (phase != "X")
    return left_out_->add_at(
        fmt::format("events of phase '{}', category '{}'", phase.substr(0, 8), category.substr(0, 64)), event.at);
  const RowType type = activity_type(category);
  const bool watched = category == "Trace";
  if (type == kRowCall && !watched && !is_call_category(category) && !is_range_category(category))
    return left_out_->add_at(fmt::format("events of category '{}'", category.substr(0, 64)), event.at);
  ProfileSpan span;
  if (!add_span(event, span)) return;
  if (watched) return watched_.push_back(span);
  if (type != kRowCall) return add_activity(event, span, type);
  if (is_call_category(category)) return add_call(event, span);
  add_range(event, span);
}

bool Profile::add_span(const ProfileEvent& event, ProfileSpan& span) {
  const auto begin = nanoseconds(event[Field::kTime]);
  if (!begin) {
    left_out_->add_at(event[Field::kTime].empty() ? "events without a time" : "events with a time that is no number",
                      event.at);
    return false;
  }
  const auto duration = nanoseconds(event[Field::kDuration]);
  if (!duration) left_out_->add_at("durations that are missing or no number, taken for 0", event.at);
  if (duration && *duration < 0) left_out_->add_at("negative durations, taken for 0", event.at);
  span.begin_ns = *begin;
  span.duration_ns = std::max<std::int64_t>(duration.value_or(0), 0);
  span.name = name_of(event[Field::kName]);
  span.at = event.at;
  return true;
}

std::uint64_t Profile::count_of(const ProfileEvent& event, ProfileField field) {
  const std::string& text = event[field];
  if (text.empty()) return 0;
  const auto value = whole_number(text);
  if (value && *value >= 0) return static_cast<std::uint64_t>(*value);
  left_out_->add_at("numbers that are none, taken for 0", event.at);
  return 0;
}

// Some vendors count with all 64 bits.
std::uint64_t Profile::correlation_of(const ProfileEvent& event) {
  const std::string& text = event[Field::kCorrelation];
  std::uint64_t whole = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
  if (error == std::errc() && end == text.data() + text.size()) return whole;
  return count_of(event, Field::kCorrelation);
}

void Profile::add_call(const ProfileEvent& event, const ProfileSpan& span) {
  ProfileProcess& process = process_of(event[Field::kPid], event.at);
  const bool is_wait = is_wait_category(event[Field::kCategory]);
  process.calls.push_back({span, thread_of(process, event[Field::kTid], event.at), correlation_of(event), is_wait});
}

void Profile::add_range(const ProfileEvent& event, const ProfileSpan& span) {
  ProfileProcess& process = process_of(event[Field::kPid], event.at);
  const std::string& name = event[Field::kName];
  const std::uint32_t thread = thread_of(process, event[Field::kTid], event.at);
  if (name.starts_with(kStepName)) {
    if (const auto number = whole_number(std::string_view(name).substr(kStepName.size())); number && *number >= 0) {
      process.steps.push_back({span, thread, static_cast<std::uint64_t>(*number)});
      return;
    }
  }
  process.ranges.push_back({span, thread, name_of(event[Field::kCategory])});
  if (!event[Field::kCollective].empty()) return add_collective(event, span);
  if (name.starts_with(kCollectiveAnnotation)) add_annotated(event, span);
}

// What all of them tell: who made it, and when.
ProfileCollective Profile::collective_of(const ProfileEvent& event, const ProfileSpan& span,
                                         const std::string& operation) {
  ProfileCollective call;
  call.span = span;
  call.span.name = name_of(operation);
  call.thread = thread_of(process_of(event[Field::kPid], event.at), event[Field::kTid], event.at);
  return call;
}

void Profile::add_collective(const ProfileEvent& event, const ProfileSpan& span) {
  const std::string operation = collective_operation(event[Field::kCollective]);
  if (operation.empty()) return;
  ProfileCollective call = collective_of(event, span, operation);
  const std::string& ranks = event[Field::kGroupRanks];
  if (!event[Field::kGroupName].empty() || !ranks.empty())
    call.communicator = hash_of(event[Field::kGroupName] + '\n' + ranks);
  call.size = small_number(event[Field::kGroupSize], 0);
  call.group = name_of(ranks);
  call.rank = small_number(event[Field::kRank], -1);
  if (call.rank >= call.size) call.rank = -1;
  call.elements = count_of(event, operation == "ReduceScatter" ? Field::kElementsOut : Field::kElementsIn);
  // NCCL's own call says what goes to one rank.
  if (operation == "AlltoAll" && call.size > 0) call.elements /= static_cast<std::uint64_t>(call.size);
  call.type = collective_type(event[Field::kDataType]);
  call.sequence = static_cast<std::uint32_t>(count_of(event, Field::kSequence));
  if (operation == "Send") call.peer = small_number(event[Field::kToRank], -1);
  if (operation == "Recv") call.peer = small_number(event[Field::kFromRank], -1);
  process_of(event[Field::kPid], event.at).collectives.push_back(call);
}

void Profile::add_annotated(const ProfileEvent& event, const ProfileSpan& span) {
  const std::string operation =
      collective_operation(std::string_view(event[Field::kName]).substr(kCollectiveAnnotation.size()));
  if (operation.empty()) return;
  ProfileCollective call = collective_of(event, span, operation);
  const std::string& types = event[Field::kInputType];
  call.elements = elements_of(event[Field::kInputDims]);
  call.type = collective_type(types.substr(0, types.find(',')));
  process_of(event[Field::kPid], event.at).annotated.push_back(call);
}

void Profile::add_activity(const ProfileEvent& event, const ProfileSpan& span, RowType type) {
  ProfileActivity activity;
  activity.span = span;
  activity.type = type;
  // Where its arguments do not say it, its place in the profile does.
  activity.device = static_cast<std::uint32_t>(small_number(event[Field::kDevice], device_of(event[Field::kPid])));
  const std::string& stream = event[Field::kStream].empty() ? event[Field::kTid] : event[Field::kStream];
  activity.stream = static_cast<std::uint32_t>(whole_number(stream).value_or(0));
  activity.owner = name_of(event[Field::kPid]);
  activity.correlation = correlation_of(event);
  activity.bytes = count_of(event, Field::kBytes);
  activity.grid = packed_dim(event[Field::kGrid]);
  activity.block = packed_dim(event[Field::kBlock]);
  activity.shared_bytes = count_of(event, Field::kSharedBytes);
  activities_.push_back(activity);
}

void Profile::add_name(const ProfileEvent& event) {
  const std::string& what = event[Field::kName];
  if (what == "process_name" && event[Field::kOwnName] == "Ascend Hardware") ascend_.is_ascend = true;
  if (what == "process_labels") ascend_.labels[event[Field::kPid]] = event[Field::kLabels];
  if (what == "process_name") process_names_[event[Field::kPid]] = event[Field::kOwnName];
  if (what == "thread_name")
    thread_names_[{event[Field::kPid], event[Field::kTid]}] = thread_name(event[Field::kOwnName]);
}

ProfileProcess& Profile::process_of(const std::string& pid, std::uint64_t at) {
  const auto [found, fresh] = processes_.try_emplace(pid);
  if (fresh) {
    found->second.number = static_cast<std::uint32_t>(processes_.size());
    found->second.pid = process_id(pid).value_or(0);
    found->second.at = at;
  }
  return found->second;
}

std::uint32_t Profile::thread_of(ProfileProcess& process, const std::string& tid, std::uint64_t at) {
  const auto found = process.thread_at.find(tid);
  if (found != process.thread_at.end()) return found->second;
  const auto index = static_cast<std::uint32_t>(process.threads.size());
  process.threads.push_back({thread_id(tid).value_or(0), {}, at});
  process.thread_at.emplace(tid, index);
  return index;
}

std::uint32_t Profile::name_of(const std::string& text) {
  if (const auto found = name_at_.find(text); found != name_at_.end()) return found->second;
  const auto number = static_cast<std::uint32_t>(names_.size());
  name_at_.emplace(names_.emplace_back(text), number);
  return number;
}

namespace {

// Numbers that another profile gave to names and to one process's threads, by those of this one.
struct Renumbering {
  const std::vector<std::uint32_t>& names;  // none: they are the same
  std::vector<std::uint32_t> threads;

  void renumber(std::uint32_t& name) const {
    if (!names.empty()) name = names[name];
  }
  void renumber(ProfileSpan& span) const { renumber(span.name); }
  template <typename OfThread>
  void renumber_of_thread(OfThread& one) const {
    renumber(one.span);
    one.thread = threads[one.thread];
  }
  void renumber(ProfileCall& call) const { renumber_of_thread(call); }
  void renumber(ProfileStep& step) const { renumber_of_thread(step); }
  void renumber(ProfileActivity& activity) const {
    renumber(activity.span);
    renumber(activity.owner);
  }
  void renumber(ProfileRange& range) const {
    renumber_of_thread(range);
    renumber(range.category);
  }
  void renumber(ProfileCollective& call) const {
    renumber_of_thread(call);
    renumber(call.group);
  }
  void renumber(AscendCollective& one) const {
    renumber(one.name);
    renumber(one.pid);
    renumber(one.tid);
  }
  void renumber(AscendArrow& arrow) const {
    renumber(arrow.pid);
    renumber(arrow.tid);
  }

  template <typename One>
  void append(std::vector<One>& to, std::vector<One>& from) const {
    for (One& one : from) renumber(one);
    to.insert(to.end(), from.begin(), from.end());
    from = {};
  }
};

}  // namespace

std::vector<ProfileProcesses::value_type*> processes_in_order(ProfileProcesses& processes) {
  std::vector<ProfileProcesses::value_type*> all;
  for (auto& one : processes) all.push_back(&one);
  std::sort(all.begin(), all.end(), [](const auto* l, const auto* r) { return l->second.number < r->second.number; });
  return all;
}

void Profile::append_process(ProfileProcess& own, ProfileProcess& other, const std::vector<std::uint32_t>& names) {
  std::vector<const std::string*> ids(other.threads.size());
  for (const auto& [tid, index] : other.thread_at) ids[index] = &tid;
  Renumbering numbers{names, {}};
  for (std::size_t i = 0; i < ids.size(); ++i) numbers.threads.push_back(thread_of(own, *ids[i], other.threads[i].at));
  numbers.append(own.calls, other.calls);
  numbers.append(own.ranges, other.ranges);
  numbers.append(own.collectives, other.collectives);
  numbers.append(own.annotated, other.annotated);
  numbers.append(own.steps, other.steps);
}

void Profile::append(Profile&& later) {
  std::vector<std::uint32_t> names;
  for (const std::string& name : later.names_) names.push_back(name_of(name));
  for (auto* const one : processes_in_order(later.processes_))
    append_process(process_of(one->first, one->second.at), one->second, names);
  const Renumbering numbers{names, {}};
  numbers.append(activities_, later.activities_);
  numbers.append(watched_, later.watched_);
  numbers.append(ascend_.collectives, later.ascend_.collectives);
  numbers.append(ascend_.begins, later.ascend_.begins);
  numbers.append(ascend_.ends, later.ascend_.ends);
  ascend_.is_ascend |= later.ascend_.is_ascend;
  ascend_.labels.merge(later.ascend_.labels);
  for (auto& [pid, name] : later.process_names_) process_names_[pid] = std::move(name);
  for (auto& [thread, name] : later.thread_names_) thread_names_[thread] = std::move(name);
  left_out_->add(*later.left_out_);
}

// In the order of the profile's own ids, so that the order of events changes nothing.
void Profile::make_ids_up() {
  std::set<std::uint32_t> taken;
  for (const auto& [pid, process] : processes_) taken.insert(process.pid);
  std::uint32_t free_pid = 1;
  for (auto& [pid, process] : processes_) {
    if (!process_id(pid)) {
      left_out_->add_at("process ids that are none, replaced", process.at);
      while (taken.contains(free_pid)) ++free_pid;
      process.pid = free_pid++;
    }
    std::uint32_t free_tid = kMadeUpTid;
    for (const auto& [tid, index] : process.thread_at) {
      if (thread_id(tid)) continue;
      left_out_->add_at("thread ids that are none, replaced", process.threads[index].at);
      process.threads[index].tid = free_tid++;
    }
  }
}

void Profile::finish() {
  finish_ascend();
  make_ids_up();
  for (auto& [pid, process] : processes_) {
    if (const auto name = process_names_.find(pid); name != process_names_.end()) process.name = name->second;
    for (const auto& [tid, index] : process.thread_at) {
      const auto name = thread_names_.find({pid, tid});
      if (name != thread_names_.end()) process.threads[index].name = name->second;
    }
  }
}

}  // namespace hostprobe::analysis
