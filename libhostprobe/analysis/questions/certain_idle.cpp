// certain_idle.cpp: see certain_idle.h.
#include "certain_idle.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostCalls = 500'000;  // all of them are held and sorted; 40 bytes each, and as much again
constexpr std::uint64_t kEveryStream = UINT64_MAX;

enum class Does : std::uint8_t { kNothing, kGivesWork, kWaits, kBoth };

struct HookUse {
  Does does = Does::kNothing;
  int stream = -1;  // which word; -1: stream 0, or every stream of a context
  bool context = false;
  bool per_thread = false;  // stream 0 is the thread's own
};

HookUse use_of(const Hook& hook) {
  HookUse use;
  const std::string_view name = hook.name;
  if (static_cast<Family>(hook.family) != Family::kCuda) return use;
  use.stream = hook.word_of("stream");
  use.context = name.starts_with("cuCtxSynchronize");
  use.per_thread = name.ends_with("_ptsz") || name.ends_with("_ptds");
  const bool moves = name.starts_with("cuMemcpy") || name.starts_with("cuMemset");
  if (moves && hook.blocking)
    use.does = Does::kBoth;
  else if (moves || hook.launch)
    use.does = Does::kGivesWork;
  else if (use.context || name.starts_with("cuStreamSynchronize"))
    use.does = Does::kWaits;
  return use;
}

struct DeviceCall {
  double begin_ns;
  double end_ns;
  std::uint64_t stream;
  Does does;
};

class Collector {
 public:
  Collector(const Timeline& timeline, const Window& window) : trace_(timeline.trace()), window_(window) {
    for (const Hook& hook : trace_.hooks) uses_.push_back(use_of(hook));
  }

  // False: something is missing.
  bool collect(const Thread& thread) {
    TickReader ticks(trace_.clock);
    bool whole = true;
    std::size_t own = 0;
    OrderedRecords records(
        thread,
        [&](const Record& record) {
          whole = whole && (record.flags & kRecordAfterSkipped) == 0;
          own += calls.size() < kMostCalls && add(record, thread, ticks);
        },
        [&](std::uint64_t) { whole = false; }, [&](std::uint64_t) { whole = false; });
    records.walk();
    for (const auto& [key, counter] : thread.counters) {
      const std::uint16_t hook = sum_hook(key.first);
      own += hook != 0 && hook <= uses_.size() && uses_[hook - 1u].does != Does::kNothing;
    }
    return (whole || own == 0) && calls.size() < kMostCalls;
  }

  std::vector<DeviceCall> calls;

 private:
  bool add(const Record& record, const Thread& thread, TickReader& ticks) {
    if (record.hook == 0 || record.hook > uses_.size() || (record.flags & (kRecordCaptured | kRecordFailed)) != 0)
      return false;
    const HookUse& use = uses_[record.hook - 1u];
    if (use.does == Does::kNothing) return false;
    const double begin_ns = ticks.since_first_ns(record.begin_ticks), end_ns = ticks.since_first_ns(record.end_ticks);
    if (begin_ns < window_.begin_ns || begin_ns >= window_.end_ns) return false;
    std::uint64_t stream = use.context ? kEveryStream : word(record, use.stream);
    if (stream <= 2 && (use.per_thread || stream == 2)) stream = kEveryStream - thread.key.tid - 1;
    if (stream == 1) stream = 0;  // CU_STREAM_LEGACY
    calls.push_back({begin_ns, end_ns, stream, use.does});
    return true;
  }

  const Trace& trace_;
  const Window& window_;
  std::vector<HookUse> uses_;
};

struct Moment {
  double ns;
  bool end;
  const DeviceCall* call;
};

// Which streams may have work, and since when.
class Sweep {
 public:
  CertainIdle run(const std::vector<DeviceCall>& calls) {
    std::vector<Moment> moments;
    for (const DeviceCall& call : calls) {
      if (call.does != Does::kWaits) moments.push_back({call.begin_ns, false, &call});
      if (call.does != Does::kGivesWork) moments.push_back({call.end_ns, true, &call});
    }
    std::stable_sort(moments.begin(), moments.end(), [](const Moment& l, const Moment& r) { return l.ns < r.ns; });
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
    double& end_ns = busy_until_[call.stream];
    end_ns = std::max(end_ns, call.does == Does::kBoth ? call.begin_ns : call.end_ns);
  }

  // What was given to a stream while somebody waited for it may be there still.
  void waited(const DeviceCall& call) {
    const bool was_empty = busy_until_.empty();
    std::erase_if(busy_until_, [&call](const auto& one) {
      return (call.stream == kEveryStream || call.stream == one.first) && one.second <= call.begin_ns;
    });
    if (busy_until_.empty() && !was_empty) idle_since_ns_ = call.end_ns;
  }

  std::map<std::uint64_t, double> busy_until_;  // by stream: the end of the last call that gave it work
  std::optional<double> idle_since_ns_;
  CertainIdle answer_;
};

}  // namespace

std::optional<CertainIdle> answer_certain_idle(const Timeline& timeline, const Window& window) {
  // A walk of its own would be most of a large report's time.
  if (timeline.trace().records() > kMostCalls) return std::nullopt;
  Collector collector(timeline, window);
  for (const Track& track : timeline.tracks())
    if (!collector.collect(*track.thread)) return std::nullopt;
  if (collector.calls.empty()) return std::nullopt;
  return Sweep().run(collector.calls);
}

}  // namespace hostprobe::analysis
