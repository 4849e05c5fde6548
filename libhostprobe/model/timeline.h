// timeline.h: a trace as typed events, thread by thread in time order.
//
// Room 3. Built once per trace; walk() decodes as it goes, so memory does not grow with the trace, and may run for several
// threads of the trace at once.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "event.h"
#include "launch_run.h"
#include "ordered_records.h"
#include "switches.h"
#include "trace/trace.h"

namespace hostprobe::analysis {

class Symbols;

// Of lengths in ticks, of which only counts in buckets are left.
Histogram histogram_of(const SpansSum& spans, const TickClock& clock);

class Timeline {
 public:
  // The trace must outlive it.
  Timeline(const Trace& trace, Symbols& symbols);
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  const Trace& trace() const { return trace_; }
  const std::vector<Function>& functions() const { return functions_; }  // one per hook
  const std::vector<Track>& tracks() const { return tracks_; }           // by thread key; streams of the GPU are none
  const Switches& switches() const { return switches_; }
  // The thread that had this id at that time; see Trace::thread_at.
  const Track* track_at(std::uint32_t tid, std::uint64_t ticks) const;

  // Calls on_event(const Event&) for everything that is known of a thread: calls by begin time, and what is missing
  // between them; then its counters. Where on_event(const LaunchRun&) can be called it is, for most launches.
  template <typename OnEvent>
  void walk(const Track& track, OnEvent on_event) const {
    walk_records(track, on_event, [](auto& records) { records.walk(); });
    walk_counters(track, on_event);
  }
  // Some calls of it, and what is missing between them.
  template <typename OnEvent>
  void walk(const Track& track, const SliceRange& slices, OnEvent on_event) const {
    walk_records(track, on_event, [&slices](auto& records) { records.walk(slices); });
  }
  // What can hold calls that were under way then.
  SliceRange slices_between(const Track& track, double begin_ns, double end_ns) const;

  // Records of collectives and of the ends of their groups, by thread: few of all, and asked for again and again. nullptr: they
  // are not held.
  using Collectives = std::map<const Track*, Records>;
  void hold_collectives(Collectives collectives) { collectives_ = std::move(collectives); }
  const Collectives* collectives() const { return collectives_ ? &*collectives_ : nullptr; }

  // A collective of which only `record` is looked at. False: it is none.
  bool decode_collective(const Record& record, TickReader& ticks, Event& event) const;

 private:
  template <typename OnEvent, typename Walk>
  void walk_records(const Track& track, OnEvent& on_event, Walk walk) const;
  template <typename OnEvent>
  void walk_counters(const Track& track, OnEvent& on_event) const;
  const Function* function_of_row(std::uint16_t number) const {
    return number == 0 || number > functions_.size() ? nullptr : &functions_[number - 1u];
  }
  // Of functions that do not launch: they have words of their own.
  static constexpr Trait kHasWords =
      Trait{kMarksStep | kCollectsGarbage | kNamesTime | kSynchronises | kWaits | kNccl | kSamplesQueue};

  // How many of the first records are plain launches, at most kMostOfRun.
  std::size_t plain_launches(std::span<const Record> records) const;
  LaunchRun decode_run(const Track& track, std::span<const Record> records, TickReader& ticks,
                       std::array<PlainLaunch, kMostOfRun>& launches) const;
  static std::int64_t kernels_of(const Record& record, const Function& function);
  void decode(const Record& record, TickReader& ticks, Event& event) const;
  static void decode_flags(const Record& record, Event& event);
  void decode_words(const Record& record, TickReader& ticks, Event& event) const;
  void decode_wake(const Record& record, TickReader& ticks, Event& event) const;
  void tell_run_queue(Event& event) const;
  void decode_nccl(const Record& record, Event& event) const;
  // False: it names no function.
  bool decode_counter(std::uint64_t place, std::uint64_t object, const SiteSum& sum, Event& event,
                      Distribution& distribution) const;

  const Trace& trace_;
  std::vector<Function> functions_;
  std::vector<char> is_plain_;  // of each, its launches; see launch_run.h
  std::vector<Track> tracks_;
  Switches switches_;
  std::optional<Collectives> collectives_;
};

inline std::int64_t Timeline::kernels_of(const Record& record, const Function& function) {
  if (function.kernels < 0) return function.kernels_of_call;
  return word(record, function.nodes) == 0 ? -1 : static_cast<std::int64_t>(word(record, function.kernels));
}

inline void Timeline::decode(const Record& record, TickReader& ticks, Event& event) const {
  event.set_function(function_of_row(record.hook));
  event.begin_ns = ticks.since_first_ns(record.begin_ticks);
  event.end_ns = ticks.since_first_ns(record.end_ticks);
  event.duration_ns = event.end_ns - event.begin_ns;
  event.end_ticks = record.end_ticks;
  event.stack = record.stack;
  event.wake_ns = event.run_queue_ns = -1;
  event.waker = nullptr;
  event.at_once = event.timed_out = event.on_file = event.counted = event.found_empty = event.has_gap = false;
  if (record.flags != 0) decode_flags(record, event);
  if (event.is(kLaunches)) {
    event.work = word(record, event.function->work);
    event.grid = word(record, event.function->grid);
    event.captured = (record.flags & kRecordCaptured) != 0;
    event.kernels = (record.flags & (kRecordCaptured | kRecordFailed)) != 0 ? 0 : kernels_of(record, *event.function);
  }
  if (event.is(kHasWords)) decode_words(record, ticks, event);
}

inline std::size_t Timeline::plain_launches(std::span<const Record> records) const {
  const char* const is_plain = is_plain_.data();
  const std::size_t functions = is_plain_.size(), most = std::min(records.size(), kMostOfRun);
  std::size_t count = 0;
  for (; count < most; ++count) {
    const Record& record = records[count];
    if (record.flags != 0 || record.hook - 1u >= functions || is_plain[record.hook - 1u] == 0) break;
  }
  return count;
}

// What it works with is its own, and kept in registers so.
inline LaunchRun Timeline::decode_run(const Track& track, std::span<const Record> records, TickReader& ticks,
                                      std::array<PlainLaunch, kMostOfRun>& launches) const {
  TickReader own = ticks;
  double last_end_ns = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Record& record = records[i];
    const Function& function = functions_[record.hook - 1u];
    const double begin_ns = own.since_first_ns(record.begin_ticks), end_ns = own.since_first_ns(record.end_ticks);
    launches[i] = {begin_ns,
                   end_ns,
                   &function,
                   word(record, function.work),
                   word(record, function.grid),
                   word(record, function.stream)};
    last_end_ns = std::max(last_end_ns, end_ns);
  }
  ticks.follow(own);
  return {&track, {launches.data(), records.size()}, last_end_ns};
}

inline void Timeline::decode_flags(const Record& record, Event& event) {
  event.at_once = (record.flags & kRecordAtOnce) != 0;
  event.timed_out = (record.flags & kRecordTimedOut) != 0;
  event.on_file = (record.flags & kRecordFile) != 0;
  event.counted = is_aggregated(record);
}

// The launch before, of one thread.
class LaunchBefore {
 public:
  LaunchBefore(const Switches& switches, const ThreadKey& thread)
      : switches_(switches.any() ? &switches : nullptr), thread_(thread) {}
  // Event or PlainLaunch. What a stream capture took is no launch of its own.
  template <typename Launch>
  void tell_gap(Launch& launch, bool captured) {
    launch.has_gap = known_ && !captured;
    launch.gap_lost = lost_ && !captured;
    launch.gap_ns = launch.begin_ns - end_ns_;
    launch.gap_switches = -1;
    launch.gap_no_cpu_ns = -1;
    if (switches_ != nullptr && launch.has_gap) tell_switches(launch);
    if (captured) return;
    known_ = true;
    lost_ = false;
    end_ns_ = launch.end_ns;
    run_queue_ns_ = 0;
  }
  void tell_gaps(std::span<PlainLaunch> launches) {
    tell_gap(launches.front(), false);
    for (std::size_t i = 1; i < launches.size(); ++i) {
      launches[i].has_gap = true;
      launches[i].gap_ns = launches[i].begin_ns - launches[i - 1].end_ns;
    }
    for (std::size_t i = 1; switches_ != nullptr && i < launches.size(); ++i) {
      end_ns_ = launches[i - 1].end_ns;
      tell_switches(launches[i]);
    }
    end_ns_ = launches.back().end_ns;
  }
  void add_wait(const Event& wait) { run_queue_ns_ += std::max(0.0, wait.run_queue_ns); }
  // Where counters know the calls that are missing, they know the gaps between them too.
  void miss(EventType type) {
    lost_ = lost_ || (known_ && type == EventType::kLost);
    known_ = false;
  }

 private:
  template <typename Launch>
  void tell_switches(Launch& launch) const {
    const ThreadSwitches* own = switches_->in(thread_, end_ns_, launch.begin_ns);
    if (own == nullptr) return;
    launch.gap_switches = static_cast<std::int32_t>(own->count_between(end_ns_, launch.begin_ns));
    launch.gap_no_cpu_ns = own->between(end_ns_, launch.begin_ns).preempted_ns + run_queue_ns_;
  }

  const Switches* switches_;  // nullptr: there are none
  const ThreadKey thread_;
  bool known_ = false, lost_ = false;
  double end_ns_ = 0;
  double run_queue_ns_ = 0;  // in waits since
};

template <typename OnEvent, typename Walk>
void Timeline::walk_records(const Track& track, OnEvent& on_event, Walk walk) const {
  TickReader ticks(trace_.clock);
  Event event;
  event.track = &track;
  Event missing = event;
  LaunchBefore before(switches_, track.key());
  std::array<PlainLaunch, kMostOfRun> launches;  // of one run
  const auto miss = [&](EventType type, std::uint64_t count) {
    before.miss(type);
    missing.type = type;
    missing.count = count;
    missing.begin_ns = missing.end_ns = event.end_ns;
    on_event(missing);
  };
  OrderedRecords records(
      *track.thread,
      [&](std::span<const Record> some) -> std::size_t {
        if constexpr (TakesLaunchRuns<OnEvent>)
          if (const std::size_t count = plain_launches(some); count != 0) {
            const LaunchRun run = decode_run(track, some.first(count), ticks, launches);
            before.tell_gaps(std::span(launches.data(), count));
            event.end_ns = run.launches.back().end_ns;
            on_event(run);
            return count;
          }
        const Record& record = some.front();
        if ((record.flags & kRecordAfterSkipped) != 0) miss(EventType::kLost, 0);
        event.record = &record;
        decode(record, ticks, event);
        if (event.is(kLaunches)) before.tell_gap(event, event.captured);
        if (event.run_queue_ns > 0) before.add_wait(event);
        if (event.function != nullptr) on_event(event);
        return 1;
      },
      [&](std::uint64_t count) { miss(EventType::kLost, count); },
      [&](std::uint64_t count) { miss(EventType::kCounted, count); });
  walk(records);
}

template <typename Key>
const SiteSum* found_in(const std::map<Key, SiteSum>& counters, const Key& key) {
  const auto found = counters.find(key);
  return found == counters.end() ? nullptr : &found->second;
}

template <typename OnEvent>
void Timeline::walk_counters(const Track& track, OnEvent& on_event) const {
  const bool knows_start = trace_.steps_known() != nullptr;
  const auto found = trace_.start_counters.find(track.key());
  const StartCounters* start = found == trace_.start_counters.end() ? nullptr : &found->second;
  const auto count = [&](const SumKey& key, const SiteSum& sum, const SiteSum* before, bool below_limit) {
    Event counter, in_steps;
    Distribution distribution, rest;
    counter.track = in_steps.track = &track;
    counter.below_limit = in_steps.below_limit = below_limit;
    if (!decode_counter(key.first, key.second, sum, counter, distribution)) return;
    if (knows_start) {
      decode_counter(key.first, key.second, before == nullptr ? sum : since(sum, *before), in_steps, rest);
      counter.in_steps = &in_steps;
    }
    on_event(counter);
  };
  for (const auto& [place, sum] : track.thread->short_waits)
    count({place, 0}, sum, start == nullptr ? nullptr : found_in(start->short_waits, place), true);
  for (const auto& [key, sum] : track.thread->counters)
    count(key, sum, start == nullptr ? nullptr : found_in(start->counters, key), false);
}

}  // namespace hostprobe::analysis
