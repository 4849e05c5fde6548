// certain_idle.cpp: see certain_idle.h.
#include "certain_idle.h"

#include <algorithm>
#include <iterator>

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostCalls = 500'000;  // all of them are held and put in order; 32 bytes each, and as much again
constexpr std::uint64_t kEveryStream = UINT64_MAX;

}  // namespace

CertainIdleTime::HookUse CertainIdleTime::use_of(const Hook& hook) {
  HookUse use;
  if (static_cast<Family>(hook.family) != Family::kCuda) return use;
  use.stream = hook.word_of("stream");
  use.per_thread = (hook.traits & kTraitPerThread) != 0;
  if (hook.launch) use.does = Does::kGivesWork;
  // What a profile saw of a runtime's calls says not which streams.
  if ((hook.traits & kTraitRuntime) != 0) return use;
  switch (hook.role) {
    case HookRole::kCopy:
    case HookRole::kCopyToDevice:
    case HookRole::kFill:
      use.does = hook.blocking ? Does::kBoth : Does::kGivesWork;
      break;
    case HookRole::kSyncContext:
      use.context = true;
      [[fallthrough]];
    case HookRole::kSyncStream:
      use.does = Does::kWaits;
      break;
    default:
      break;
  }
  return use;
}

CertainIdleTime::CertainIdleTime(const Timeline& timeline, const Window& window)
    : window_(window), is_asked_(timeline.trace().records() <= kMostCalls) {
  for (const Hook& hook : timeline.trace().hooks) uses_.push_back(use_of(hook));
}

void CertainIdleTime::add_event(const Event& event) {
  if (event.type != EventType::kCall) {
    of(event.track).whole = false;
    return;
  }
  const HookUse& use = uses_[event.function->row];
  const Record& record = *event.record;
  if (use.does == Does::kNothing || (record.flags & (kRecordCaptured | kRecordFailed)) != 0) return;
  if (event.begin_ns < window_.begin_ns || event.begin_ns >= window_.end_ns) return;
  const std::uint64_t stream =
      use.context ? kEveryStream : stream_of(word(record, use.stream), use, event.track->key().tid);
  calls_of(*event.track).push_back({event.begin_ns, event.end_ns, stream, use.does});
}

void CertainIdleTime::add_launches(const LaunchRun& run) {
  std::vector<DeviceCall>& calls = calls_of(*run.track);
  const std::uint32_t tid = run.track->key().tid;
  for (const PlainLaunch& launch : run.launches) {
    const HookUse& use = uses_[launch.function->row];
    if (use.does == Does::kNothing || launch.begin_ns < window_.begin_ns || launch.begin_ns >= window_.end_ns) continue;
    calls.push_back({launch.begin_ns, launch.end_ns, stream_of(launch.stream, use, tid), use.does});
  }
}

// 0 and 1 (CU_STREAM_LEGACY) are one stream, 2 (CU_STREAM_PER_THREAD) is the thread's own.
std::uint64_t CertainIdleTime::stream_of(std::uint64_t word, const HookUse& use, std::uint32_t tid) {
  if (word > 2) return word;
  return use.per_thread || word == 2 ? kEveryStream - tid - 1 : 0;
}

struct CertainIdleTime::Moment {
  double ns;
  bool end;
  const DeviceCall* call;

  static bool is_before(const Moment& l, const Moment& r) { return l.ns < r.ns; }
};

// Of one thread, in order, as they mostly are.
std::vector<CertainIdleTime::Moment> CertainIdleTime::moments_of(const std::vector<DeviceCall>& calls) {
  std::vector<Moment> moments;
  moments.reserve(calls.size());
  for (const DeviceCall& call : calls) {
    if (call.does != Does::kWaits) moments.push_back({call.begin_ns, false, &call});
    if (call.does != Does::kGivesWork) moments.push_back({call.end_ns, true, &call});
  }
  if (!std::is_sorted(moments.begin(), moments.end(), Moment::is_before))
    std::stable_sort(moments.begin(), moments.end(), Moment::is_before);
  return moments;
}

// Which streams may have work, and since when.
class CertainIdleTime::Sweep {
 public:
  CertainIdle run(const std::vector<Moment>& moments) {
    for (const Moment& moment : moments) moment.end ? waited(*moment.call) : given(*moment.call);
    return answer_;
  }

 private:
  void given(const DeviceCall& call) {
    if (idle_since_ns_) {
      ++answer_.spans;
      answer_.ms += 1e-6 * (call.begin_ns - *idle_since_ns_);
      idle_since_ns_.reset();
    }
    if (last_ == busy_until_.end() || last_->first != call.stream) last_ = busy_until_.try_emplace(call.stream).first;
    last_->second = std::max(last_->second, call.does == Does::kBoth ? call.begin_ns : call.end_ns);
  }

  // What was given to a stream while somebody waited for it may be there still.
  void waited(const DeviceCall& call) {
    const bool was_empty = busy_until_.empty();
    last_ = busy_until_.end();
    std::erase_if(busy_until_, [&call](const auto& one) {
      return (call.stream == kEveryStream || call.stream == one.first) && one.second <= call.begin_ns;
    });
    if (busy_until_.empty() && !was_empty) idle_since_ns_ = call.end_ns;
  }

  using BusyUntil = std::map<std::uint64_t, double>;
  BusyUntil busy_until_;  // by stream: the end of the last call that gave it work
  BusyUntil::iterator last_ = busy_until_.end();
  std::optional<double> idle_since_ns_;
  CertainIdle answer_;
};

bool CertainIdleTime::has_counters(const Thread& thread) const {
  return std::any_of(thread.counters.begin(), thread.counters.end(), [this](const auto& counter) {
    const std::uint16_t hook = sum_hook(counter.first.first);
    return hook != 0 && hook <= uses_.size() && uses_[hook - 1u].does != Does::kNothing;
  });
}

std::optional<CertainIdle> CertainIdleTime::finish() const {
  if (!is_asked_) return std::nullopt;
  std::vector<Moment> moments;
  std::size_t calls = 0;
  for (const auto& [track, own] : threads_) {
    if (!own.whole && (!own.calls.empty() || has_counters(*track->thread))) return std::nullopt;
    calls += own.calls.size();
    std::vector<Moment> more = moments_of(own.calls);
    if (moments.empty()) moments.swap(more);
    if (more.empty()) continue;
    const std::vector<Moment> before = std::move(moments);
    moments.clear();
    moments.reserve(before.size() + more.size());
    std::merge(before.begin(), before.end(), more.begin(), more.end(), std::back_inserter(moments), Moment::is_before);
  }
  if (calls == 0 || calls >= kMostCalls) return std::nullopt;
  return Sweep().run(moments);
}

std::optional<CertainIdle> answer_certain_idle(const Timeline& timeline, const Window& window) {
  CertainIdleTime idle(timeline, window);
  for (const Track& track : timeline.tracks()) timeline.walk(track, [&idle](const Event& event) { idle.add(event); });
  return idle.finish();
}

}  // namespace hostprobe::analysis
