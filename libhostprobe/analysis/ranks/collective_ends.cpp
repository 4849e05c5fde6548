// collective_ends.cpp: see collective_ends.h.
#include "collective_ends.h"

#include <algorithm>
#include <map>

#include "collective_source.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostWaits = 1'000'000;
constexpr double kExactNs = 1'500;
constexpr std::size_t kMostEnds = 20'000;
constexpr std::uint64_t kAnyStream = UINT64_MAX;

// A blocking call that returned at `end_ns`, when all was done that had been given to the stream before `covers_ns`.
struct StreamWait {
  double covers_ns = 0;
  double end_ns = 0;
  CollectiveEnd last = {};  // the last collective that it covers
  double last_begin_ns = -1;
};

// The waits of a thread for the GPU, directly, by an event, or by one that the stream waits for.
class ThreadWaits {
 public:
  ThreadWaits(const Timeline& timeline, std::map<std::uint64_t, std::vector<StreamWait>>& waits)
      : ticks_(timeline.trace().clock), waits_(waits) {
    for (const Hook& hook : timeline.trace().hooks) rows_.push_back(row_of(hook));
  }
  bool wants(const Slice& slice) const {
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (rows_[i].what != What::kNothing && slice.may_hold(static_cast<std::uint16_t>(i + 1))) return true;
    return false;
  }
  void add(const Record& record) {
    if (record.hook == 0 || record.hook > rows_.size() || (record.flags & kRecordFailed) != 0) return;
    const Row& row = rows_[record.hook - 1u];
    if (row.what == What::kNothing) return;
    const double begin_ns = ticks_.since_first_ns(record.begin_ticks), end_ns = ticks_.since_first_ns(record.end_ticks);
    const std::uint64_t stream = word(record, row.stream), event = word(record, row.event);
    switch (row.what) {
      case What::kRecordsEvent:
        events_[event] = {stream, begin_ns};
        break;
      case What::kStreamWaitsForEvent:
        if (const auto found = events_.find(event); found != events_.end())
          behind_[stream][found->second.stream] = found->second.covers_ns;
        break;
      case What::kWaitsForEvent:
        if (const auto found = events_.find(event); found != events_.end())
          waited(found->second.stream, found->second.covers_ns, end_ns);
        break;
      case What::kWaitsForStream:
        waited(stream, begin_ns, end_ns);
        break;
      default:
        waited(kAnyStream, begin_ns, end_ns);
        break;
    }
    if (events_.size() > kMostEvents) events_.clear();
  }

 private:
  enum class What { kNothing, kRecordsEvent, kStreamWaitsForEvent, kWaitsForEvent, kWaitsForStream, kWaitsForAll };
  struct Row {
    What what = What::kNothing;
    int stream = -1, event = -1;
  };
  struct Recorded {
    std::uint64_t stream = 0;
    double covers_ns = 0;
  };
  static constexpr std::size_t kMostEvents = 100'000;

  static What what_of(HookRole role) {
    switch (role) {
      case HookRole::kEventRecord:
        return What::kRecordsEvent;
      case HookRole::kStreamWait:
        return What::kStreamWaitsForEvent;
      case HookRole::kSyncEvent:
        return What::kWaitsForEvent;
      case HookRole::kSyncStream:
        return What::kWaitsForStream;
      case HookRole::kSyncContext:
        return What::kWaitsForAll;
      default:
        return What::kNothing;
    }
  }
  static Row row_of(const Hook& hook) { return {what_of(hook.role), hook.word_of("stream"), hook.word_of("event")}; }
  void wait(std::uint64_t stream, double covers_ns, double end_ns) {
    std::vector<StreamWait>& waits = waits_[stream];
    if (waits.size() < kMostWaits) waits.push_back({covers_ns, end_ns});
  }
  void waited(std::uint64_t stream, double covers_ns, double end_ns) {
    wait(stream, covers_ns, end_ns);
    const auto behind = behind_.find(stream);
    if (behind == behind_.end()) return;
    for (const auto& [other, other_covers_ns] : behind->second)
      wait(other, std::min(covers_ns, other_covers_ns), end_ns);
    behind_.erase(behind);
  }

  TickReader ticks_;
  std::map<std::uint64_t, std::vector<StreamWait>>& waits_;
  std::vector<Row> rows_;
  std::map<std::uint64_t, Recorded> events_;
  std::map<std::uint64_t, std::map<std::uint64_t, double>> behind_;  // by stream: other streams whose work it waits for
};

using Waits = std::map<std::uint64_t, std::vector<StreamWait>>;  // by stream

void attach(std::vector<StreamWait>& waits, double end_ns, double begin_ns, const CollectiveEnd& collective) {
  const auto covering = std::lower_bound(waits.begin(), waits.end(), end_ns,
                                         [](const StreamWait& wait, double ns) { return wait.covers_ns < ns; });
  if (covering == waits.end() || covering->last_begin_ns > begin_ns) return;
  covering->last = collective;
  covering->last_begin_ns = begin_ns;
}

using OwnRanks = std::map<std::uint64_t, std::int32_t>;  // by communicator

// False: the process drives several devices, so what waits for one context does not wait for all.
bool is_one_rank(const CollectiveCall& call, OwnRanks& ranks) {
  return ranks.try_emplace(call.communicator, call.rank).first->second == call.rank;
}

bool attach_collectives(const Timeline& timeline, const Track& track, OwnRanks& ranks, Waits& waits) {
  bool one_rank = true;
  TickReader ticks(timeline.trace().clock);
  Event event;
  event.track = &track;
  std::uint64_t captured_ticks = 0;  // begin of the last launch that a capture took
  for (const Slice& slice : track.thread->slices) {
    for (const Record& record : slice.records()) {
      if ((record.flags & kRecordCaptured) != 0) captured_ticks = std::max(captured_ticks, record.begin_ticks);
      if (!timeline.decode_collective(record, ticks, event) || captured_ticks >= record.begin_ticks) continue;
      const CollectiveCall call = collective_call(event);
      const bool grouped = (word(record, event.function->call) >> 32 & 0xffff) != 0;
      if (!call.is_for_all() || grouped) continue;
      one_rank = is_one_rank(call, ranks) && one_rank;
      const CollectiveEnd collective{call.communicator, call.sequence, false, call.begin_ns, 0};
      const Hook* hook = timeline.trace().hook_of(record);
      if (const auto own = waits.find(word(record, hook->word_of("stream"))); own != waits.end())
        attach(own->second, event.end_ns, event.begin_ns, collective);
      if (const auto all = waits.find(kAnyStream); all != waits.end())
        attach(all->second, event.end_ns, event.begin_ns, collective);
    }
  }
  return one_rank;
}

Waits waits_of(const Timeline& timeline) {
  Waits waits;
  for (const Track& track : timeline.tracks()) {
    ThreadWaits own(timeline, waits);
    for (const Slice& slice : track.thread->slices) {
      if (!own.wants(slice)) continue;
      for (const Record& record : slice.records()) own.add(record);
    }
  }
  for (auto& [stream, all] : waits)
    std::sort(all.begin(), all.end(),
              [](const StreamWait& l, const StreamWait& r) { return l.covers_ns < r.covers_ns; });
  return waits;
}

// Which ones go must not depend on the rank: all must keep the same.
std::uint32_t lot(const CollectiveEnd& end) {
  return static_cast<std::uint32_t>((end.sequence + end.communicator) * 0x9e3779b97f4a7c15u >> 32);
}

void thin_out(std::vector<CollectiveEnd>& ends, std::uint32_t& limit) {
  while (ends.size() > kMostEnds) {
    limit /= 2;
    std::erase_if(ends, [limit](const CollectiveEnd& end) { return lot(end) > limit; });
    if (limit == 0) return;
  }
}

std::vector<CollectiveEnd> exact_ends(const Timeline& timeline, std::shared_ptr<const CollectiveKernels> kernels) {
  std::vector<CollectiveEnd> ends;
  std::uint32_t limit = UINT32_MAX;
  for (CollectiveSource& source : collective_sources(timeline, std::move(kernels))) {
    CollectiveCall call;
    while (source(call)) {
      if (!call.is_for_all() || call.gpu_end_ns == 0 || call.gpu_error_ns > kExactNs) continue;
      const CollectiveEnd end{call.communicator, call.sequence, true, call.gpu_begin_ns, call.gpu_end_ns};
      if (lot(end) > limit) continue;
      ends.push_back(end);
      thin_out(ends, limit);
    }
  }
  return ends;
}

}  // namespace

std::vector<CollectiveEnd> collective_ends(const Timeline& timeline, std::shared_ptr<const CollectiveKernels> kernels) {
  // Of a replay only what was timed is exact; so waits tell too.
  std::vector<CollectiveEnd> exact;
  if (!kernels->empty()) {
    const bool are_all = kernels->are_exact();
    exact = exact_ends(timeline, std::move(kernels));
    if (are_all) return exact;
  }
  Waits waits = waits_of(timeline);
  OwnRanks ranks;
  bool one_rank = true;
  for (const Track& track : timeline.tracks()) one_rank = attach_collectives(timeline, track, ranks, waits) && one_rank;
  if (!one_rank) waits.erase(kAnyStream);
  std::vector<CollectiveEnd> ends = std::move(exact);
  std::uint32_t limit = UINT32_MAX;
  for (const auto& [stream, all] : waits) {
    for (const StreamWait& wait : all) {
      if (wait.last_begin_ns < 0 || lot(wait.last) > limit) continue;
      CollectiveEnd end = wait.last;
      end.end_ns = timeline.trace().clock.monotonic_ns_of(wait.end_ns);
      ends.push_back(end);
      thin_out(ends, limit);
    }
  }
  return ends;
}

}  // namespace hostprobe::analysis
