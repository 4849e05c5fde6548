// gpu_work.cpp: see gpu_work.h.
#include "gpu_work.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "gpu_clock.h"
#include "nccl_parts.h"
#include "nearly_sorted.h"
#include "timeline.h"

namespace hostprobe::analysis {
namespace {

constexpr std::uint64_t kLegacyHandle = 1, kPerThreadHandle = 2;  // CU_STREAM_LEGACY, CU_STREAM_PER_THREAD
constexpr std::uint64_t kNonBlocking = 1;                         // CU_STREAM_NON_BLOCKING
constexpr double kLongCopyNs = 20'000;  // a copy into a stream that takes so long waits for its end
constexpr std::size_t kEnoughCalls = 100'000;
constexpr double kCopyToldNs = 2'000;
constexpr double kAboutNs = 2'000;       // by which that differs from event to event, and the clocks from each other
constexpr double kEventTakesNs = 1'300;  // as measured (bench/gpu/RESULTS.md)
// What is done so long after its call has returned was not waited for by it. Of pageable memory the last piece goes on for some 30 us.
constexpr double kBehindNs = 100'000;

// What a hook of the driver is here.
enum class Deed : std::uint8_t { kNothing, kOp, kMark, kJoin, kSync, kTimed, kBase, kMade };

struct Row {
  Deed deed = Deed::kNothing;
  GpuOpType type = GpuOpType::kKernel;
  bool blocks = false, per_thread = false;
  int stream = -1, event = -1, bytes = -1, block = -1;
};

Deed deed_of(const Hook& hook) {
  switch (hook.role) {
    case HookRole::kLaunch:
    case HookRole::kLaunchMany:
    case HookRole::kLaunchGraph:
    case HookRole::kLaunchCallback:
    case HookRole::kCopy:
    case HookRole::kCopyToDevice:
    case HookRole::kFill:
      return Deed::kOp;
    case HookRole::kEventRecord:
      return Deed::kMark;
    case HookRole::kStreamWait:
      return Deed::kJoin;
    case HookRole::kSyncStream:
    case HookRole::kSyncEvent:
    case HookRole::kSyncContext:
      return Deed::kSync;
    case HookRole::kGpuEnd:
      return Deed::kTimed;
    case HookRole::kGpuClock:
      return Deed::kBase;
    case HookRole::kStreamMade:
      return Deed::kMade;
    default:
      return Deed::kNothing;
  }
}

GpuOpType type_of(HookRole role) {
  switch (role) {
    case HookRole::kLaunchGraph:
      return GpuOpType::kGraph;
    case HookRole::kLaunchCallback:
      return GpuOpType::kCallback;
    case HookRole::kCopy:
    case HookRole::kCopyToDevice:
      return GpuOpType::kCopy;
    case HookRole::kFill:
      return GpuOpType::kFill;
    default:
      return GpuOpType::kKernel;
  }
}

Row row_of(const Hook& hook) {
  Row row;
  if (static_cast<Family>(hook.family) != Family::kCuda || (hook.traits & kTraitRuntime) != 0) return row;
  row.deed = deed_of(hook);
  row.type = type_of(hook.role);
  row.blocks = hook.blocking;
  row.per_thread = (hook.traits & kTraitPerThread) != 0;
  row.stream = hook.word_of("stream");
  row.event = hook.word_of("event");
  row.bytes = hook.word_of("bytes");
  row.block = hook.word_of("block");
  return row;
}

bool holds(const Trace& trace, std::uint16_t hook) {
  for (const auto& [key, thread] : trace.threads)
    for (const Slice& slice : thread.slices)
      if (slice.may_hold(hook)) return true;
  return false;
}

// Cheaply: without a look at any record.
bool launched_anything(const Trace& trace) {
  for (std::size_t i = 0; i < trace.hooks.size(); ++i)
    if (row_of(trace.hooks[i]).deed == Deed::kOp && holds(trace, static_cast<std::uint16_t>(i + 1))) return true;
  return false;
}

struct RawSync {
  double begin_ns = 0, end_ns = 0;
  HookRole role = HookRole::kSyncContext;
  std::uint32_t stream = 0;
  std::uint64_t event = 0;
};

struct TimedEnd {
  std::uint64_t base = 0;
  double device_ns = 0;
  double behind_ns = 0;  // from the begin of the call until the event was in the stream
  double next_ns = 0;    // of the second event behind the same call: so much later it was reached; 0: there is none
  double next_behind_ns = 0;  // as behind_ns
};

using CallKey = std::pair<std::uint32_t, std::uint64_t>;  // thread, begin in ticks
struct CallKeyHash {
  std::size_t operator()(const CallKey& key) const { return (key.second ^ key.first) * 0x9e3779b97f4a7c15u >> 9; }
};

// Reads all threads of a trace, one after the other.
class Gatherer {
 public:
  explicit Gatherer(const Timeline& timeline) : timeline_(timeline), trace_(timeline.trace()), parts_(work_.parts) {
    for (const Hook& hook : trace_.hooks) rows_.push_back(row_of(hook));
    work_.names.emplace_back();
  }

  GpuWork gather() {
    for (const Track& track : timeline_.tracks()) {
      parts_.enter_thread();
      timeline_.walk(track, [this](const Event& event) { add(event); });
    }
    number_messages(work_.parts, parts_.messages());
    sort_ops();
    tell_timed();
    find_blocking_copies();
    find_told();
    link();
    return std::move(work_);
  }

 private:
  void add(const Event& event) {
    if (event.type == EventType::kCounter) return;
    if (event.type != EventType::kCall) {
      work_.whole = false;
      return;
    }
    if (event.is(kNccl)) return parts_.add(event, [this](const Event& call) { return moved_kind(call); });
    if (event.record->hook == 0 || event.record->hook > rows_.size()) return;
    const Row& row = rows_[event.record->hook - 1u];
    if (row.deed == Deed::kNothing || (event.record->flags & (kRecordFailed | kRecordCaptured)) != 0) return;
    switch (row.deed) {
      case Deed::kOp:
        return add_op(event, row);
      case Deed::kMark:
      case Deed::kJoin:
        return add_place(event, row);
      case Deed::kSync:
        return add_sync(event, row);
      case Deed::kMade:
        if ((word(*event.record, 1) & kNonBlocking) == 0) blocking_.insert(word(*event.record, 0));
        return;
      default:
        return add_own(*event.record, row);
    }
  }

  GpuOp op_of(const Event& event, const Row& row) {
    GpuOp op;
    op.begin_ns = event.begin_ns;
    op.end_ns = event.end_ns;
    op.launch_ticks = event.record->begin_ticks;
    op.tid = event.track->key().tid;
    op.stream = stream_of(row.stream < 0 ? 0 : word(*event.record, row.stream), row.per_thread, op.tid);
    return op;
  }

  void add_op(const Event& event, const Row& row) {
    GpuOp op = op_of(event, row);
    op.type = row.type;
    op.blocks = row.blocks;
    op.bytes = row.bytes < 0 ? 0 : word(*event.record, row.bytes);
    op.kernels = event.kernels < 0 ? 1 : static_cast<std::uint32_t>(event.kernels);
    const NcclParts::Range range = parts_.around(event.begin_ns);
    op.kind = kind_of(event, row, op, range.count > 0);
    op.collective = work_.kinds[op.kind].collective;
    if (op.collective) op.first_part = range.first, op.parts = range.count;
    work_.ops.push_back(op);
  }

  void add_place(const Event& event, const Row& row) {
    GpuOp op = op_of(event, row);
    op.type = row.deed == Deed::kMark ? GpuOpType::kMark : GpuOpType::kJoin;
    op.bytes = row.event < 0 ? 0 : word(*event.record, row.event);  // until link()
    work_.ops.push_back(op);
  }

  void add_sync(const Event& event, const Row& row) {
    RawSync sync{event.begin_ns, event.end_ns, event.function->role, 0, 0};
    if (row.stream >= 0)
      sync.stream = stream_of(word(*event.record, row.stream), row.per_thread, event.track->key().tid);
    if (row.event >= 0) sync.event = word(*event.record, row.event);
    syncs_.push_back(sync);
  }

  void add_own(const Record& record, const Row& row) {
    if (row.deed == Deed::kTimed) {
      const double behind_ns = trace_.clock.length_ns(static_cast<double>(record.c >> 32));
      return add_timed({static_cast<std::uint32_t>(record.e), record.a},
                       {record.c & 0xffffffff, static_cast<double>(record.b), behind_ns});
    }
    TickReader ticks(trace_.clock);
    bases_.push_back({record.a & 0xffffffff, trace_.clock.length_ns(static_cast<double>(record.a >> 32)),
                      ticks.since_first_ns(record.b),
                      record.c == 0 ? std::numeric_limits<double>::quiet_NaN() : ticks.since_first_ns(record.c),
                      static_cast<double>(record.d), static_cast<std::uint32_t>(record.e),
                      static_cast<std::uint32_t>(record.e >> 32)});
  }

  // Of two events behind one op the first tells its end, and both what an event takes.
  void add_timed(const CallKey& call, const TimedEnd& end) {
    const auto [at, is_new] = timed_.try_emplace(call, end);
    if (is_new || at->second.base != end.base) return;
    TimedEnd first = at->second, second = end;
    if (second.behind_ns < first.behind_ns) std::swap(first, second);
    first.next_ns = second.device_ns - first.device_ns;
    first.next_behind_ns = second.behind_ns;
    at->second = first;
  }

  std::uint32_t stream_of(std::uint64_t handle, bool per_thread, std::uint32_t tid) {
    const bool is_own = handle == kPerThreadHandle || (handle == 0 && per_thread);
    if (is_own || handle == kLegacyHandle) handle = 0;
    const auto [at, is_new] =
        stream_at_.try_emplace({handle, is_own ? tid : 0}, static_cast<std::uint32_t>(work_.streams.size()));
    if (is_new) work_.streams.push_back({handle, is_own ? tid : 0, 0, false, {}});
    return at->second;
  }

  std::uint32_t kind_of(const Event& event, const Row& row, const GpuOp& op, bool in_nccl) {
    GpuOpKind kind;
    kind.type = op.type;
    const bool is_launch = event.is(kLaunches);
    kind.what = is_launch ? event.work : event.record->hook;
    if (op.type == GpuOpType::kKernel) {
      kind.grid = event.grid;
      kind.block = row.block < 0 ? 0 : word(*event.record, row.block);
    }
    if (!is_launch) kind.bytes = op.bytes;
    const std::string_view text = op.type == GpuOpType::kKernel ? trace_.strings.text(event.work) : std::string_view{};
    kind.collective = op.type == GpuOpType::kKernel && (in_nccl || text.starts_with("nccl"));
    const auto key = std::tuple(kind.type, kind.collective, kind.what, kind.grid, kind.block, kind.bytes);
    const auto [at, is_new] = kind_at_.try_emplace(key, static_cast<std::uint32_t>(work_.kinds.size()));
    if (!is_new) return at->second;
    kind.name = name_of(op, event, std::string(text));
    work_.kinds.push_back(kind);
    return at->second;
  }

  // What is moved between ranks, as a kind of its own.
  std::uint32_t moved_kind(const Event& call) {
    GpuOpKind kind;
    kind.collective = true;
    kind.what = call.communicator;
    kind.grid = call.function->row;
    kind.bytes = call.bytes;
    const auto key = std::tuple(kind.type, true, kind.what, kind.grid, ~std::uint64_t{0}, kind.bytes);
    const auto [at, is_new] = kind_at_.try_emplace(key, static_cast<std::uint32_t>(work_.kinds.size()));
    if (is_new) work_.kinds.push_back(kind);
    return at->second;
  }

  std::uint32_t name_of(const GpuOp& op, const Event& event, std::string text) {
    if (text.empty()) text = op.type == GpuOpType::kKernel ? "a kernel without a name" : event.function->name;
    const auto [at, is_new] = name_at_.try_emplace(text, static_cast<std::uint32_t>(work_.names.size()));
    if (is_new) work_.names.push_back(text);
    return at->second;
  }

  void sort_ops() {
    const auto is_before = [](const GpuOp& l, const GpuOp& r) { return l.begin_ns < r.begin_ns; };
    if (!move_into_order(work_.ops.begin(), work_.ops.end(), is_before))
      std::stable_sort(work_.ops.begin(), work_.ops.end(), is_before);
    std::stable_sort(syncs_.begin(), syncs_.end(),
                     [](const RawSync& l, const RawSync& r) { return l.begin_ns < r.begin_ns; });
  }

  void tell_timed() {
    if (timed_.empty()) return;
    const GpuClock clock(std::move(bases_));
    work_.clock_error_ns = clock.error_ns();
    work_.empty_event_ns = clock.empty_event_ns();
    double events_ns = 0;
    std::uint64_t events = 0;
    for (GpuOp& op : work_.ops) {
      const auto found = is_work(op.type) ? timed_.find({op.tid, op.launch_ticks}) : timed_.end();
      if (found == timed_.end()) continue;
      const auto ns = clock.host_ns(found->second.base, found->second.device_ns);
      if (!ns || *ns < op.begin_ns) continue;  // the clock was not what it seemed
      // In an empty stream an event is reached so long after it was put there, whenever the op before it had ended.
      if (*ns > op.begin_ns + found->second.behind_ns + work_.empty_event_ns + kAboutNs)
        op.timed_ns = *ns;
      else
        op.latest_ns = *ns;
      ++work_.timed;
      // Both were there before the op had ended: what lies between them is what an event takes.
      const TimedEnd& end = found->second;
      if (end.next_behind_ns > 0 && *ns > op.begin_ns + end.next_behind_ns + work_.empty_event_ns + kAboutNs)
        events_ns += end.next_ns, ++events;
      if (const auto device = clock.device_of(end.base)) work_.streams[op.stream].device = *device;
    }
    // Some readings of a clock that goes in steps: their mean.
    work_.event_ns = events > 0 ? std::max(0.0, events_ns / static_cast<double>(events)) : kEventTakesNs;
    // The time stamp is taken when all is done that an event takes.
    for (GpuOp& op : work_.ops) op.timed_ns -= work_.event_ns, op.latest_ns -= work_.event_ns;
  }

  // Of pageable memory they return when they are done; a timed one of the kind that did not tells them apart.
  void find_blocking_copies() {
    std::set<std::uint32_t> behind;
    for (const GpuOp& op : work_.ops)
      if (op.type == GpuOpType::kCopy && op.is_timed() && op.timed_ns > op.end_ns + kBehindNs) behind.insert(op.kind);
    for (GpuOp& op : work_.ops)
      if (op.type == GpuOpType::kCopy && op.end_ns - op.begin_ns >= kLongCopyNs && !behind.contains(op.kind) &&
          static_cast<double>(op.bytes) >= kLeastBytesPerNs * (op.end_ns - op.begin_ns) &&
          static_cast<double>(op.bytes) <= kMostBytesPerNs * (op.end_ns - op.begin_ns))
        op.blocks = true;
  }

  // A call hands its work over at its end, so as late as the quicker calls of its kind take; what makes one longer than those, a thread
  // that loses its CPU before all, comes behind that as well as before.
  void find_told() {
    constexpr double kQuicker = 0.25;  // of the calls
    std::map<std::pair<GpuOpType, bool>, std::vector<float>> took;
    for (const GpuOp& op : work_.ops)
      if (auto& some = took[{op.type, op.collective}]; some.size() < kEnoughCalls)
        some.push_back(static_cast<float>(op.end_ns - op.begin_ns));
    std::map<std::pair<GpuOpType, bool>, double> usual;
    for (auto& [type, some] : took) {
      const auto quick = some.begin() + static_cast<std::ptrdiff_t>(kQuicker * static_cast<double>(some.size()));
      std::nth_element(some.begin(), quick, some.end());
      usual[type] = static_cast<double>(*quick);
    }
    for (GpuOp& op : work_.ops) {
      // A copy goes on in its call when the GPU has it: it pins memory, fills a buffer, wakes a thread.
      const double most_ns = op.type == GpuOpType::kCopy ? kCopyToldNs : usual[{op.type, op.collective}];
      op.told_ns = op.blocks ? op.begin_ns : std::min(op.end_ns, op.begin_ns + most_ns);
    }
  }

  // In the order of the calls: what each stream holds, what marks and waits refer to.
  void link() {
    std::size_t next = 0;
    for (std::uint32_t i = 0; i < work_.ops.size(); ++i) {
      for (; next < syncs_.size() && syncs_[next].begin_ns < work_.ops[i].begin_ns; ++next) link_sync(syncs_[next]);
      link_op(i);
    }
    for (; next < syncs_.size(); ++next) link_sync(syncs_[next]);
    std::stable_sort(work_.syncs.begin(), work_.syncs.end(),
                     [](const GpuSync& l, const GpuSync& r) { return l.end_ns < r.end_ns; });
    tell_drained();
  }

  void link_op(std::uint32_t number) {
    GpuOp& op = work_.ops[number];
    GpuStream& stream = work_.streams[op.stream];
    stream.blocking = stream.blocking || blocking_.contains(stream.handle);
    if (op.type == GpuOpType::kMark) mark_at_[op.bytes] = number;
    if (op.type == GpuOpType::kJoin) {
      const auto mark = mark_at_.find(op.bytes);
      op.other = mark == mark_at_.end() ? kNoOp : mark->second;
    }
    if (is_work(op.type)) op.other = across_legacy(stream, number);
    stream.ops.push_back(number);
    if (op.blocks) work_.syncs.push_back({op.begin_ns, op.end_ns, number});
  }

  // The legacy stream and those that block wait for each other: each for the last that the others had got.
  std::uint32_t across_legacy(const GpuStream& stream, std::uint32_t number) {
    const bool is_legacy = stream.handle == 0 && stream.thread == 0;
    if (is_legacy) return std::exchange(last_legacy_, number), last_blocking_;
    if (!stream.blocking) return kNoOp;
    last_blocking_ = number;
    return last_legacy_;
  }

  void link_sync(const RawSync& sync) {
    const auto add = [&](std::uint32_t op) { work_.syncs.push_back({sync.begin_ns, sync.end_ns, op}); };
    if (sync.role == HookRole::kSyncEvent) {
      if (const auto mark = mark_at_.find(sync.event); mark != mark_at_.end()) add(mark->second);
    } else if (sync.role == HookRole::kSyncStream) {
      if (const auto& ops = work_.streams[sync.stream].ops; !ops.empty()) add(ops.back());
    } else {
      for (const GpuStream& stream : work_.streams)
        if (!stream.ops.empty()) add(stream.ops.back());
    }
  }

  void tell_drained() {
    constexpr double kNever = -std::numeric_limits<double>::infinity();
    std::vector<double> drained(work_.streams.size(), kNever);
    std::vector<std::uint32_t> last(work_.streams.size(), kNoOp);
    std::size_t next = 0;
    for (std::uint32_t i = 0; i < work_.ops.size(); ++i) {
      GpuOp& op = work_.ops[i];
      for (; next < work_.syncs.size() && work_.syncs[next].end_ns <= op.begin_ns; ++next) {
        const std::uint32_t stream = work_.ops[work_.syncs[next].op].stream;
        if (last[stream] == work_.syncs[next].op) drained[stream] = work_.syncs[next].end_ns;
      }
      op.drained_ns = drained[op.stream];
      drained[op.stream] = kNever;
      last[op.stream] = i;
    }
  }

  const Timeline& timeline_;
  const Trace& trace_;
  GpuWork work_;
  NcclParts parts_;
  std::vector<Row> rows_;  // by hook
  std::vector<RawSync> syncs_;
  std::vector<GpuClockBase> bases_;
  std::unordered_map<CallKey, TimedEnd, CallKeyHash> timed_;
  std::set<std::uint64_t> blocking_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint32_t> stream_at_;
  std::map<std::tuple<GpuOpType, bool, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>, std::uint32_t>
      kind_at_;
  std::map<std::string, std::uint32_t> name_at_;
  std::unordered_map<std::uint64_t, std::uint32_t> mark_at_;
  std::uint32_t last_legacy_ = kNoOp, last_blocking_ = kNoOp;
};

}  // namespace

GpuWork gpu_work(const Timeline& timeline) {
  if (!launched_anything(timeline.trace())) return {};
  return Gatherer(timeline).gather();
}

void move_by(GpuWork& work, double ns) {
  for (GpuOp& op : work.ops)
    for (double* at : {&op.begin_ns, &op.end_ns, &op.told_ns, &op.timed_ns, &op.latest_ns, &op.drained_ns}) *at += ns;
  for (GpuSync& sync : work.syncs) sync.begin_ns += ns, sync.end_ns += ns;
}

}  // namespace hostprobe::analysis
