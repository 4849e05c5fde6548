// timeline.cpp: see timeline.h.
#include "timeline.h"

#include <algorithm>

#include "format/nccl_type.h"
#include "trace/roles.h"
#include "trace/symbols.h"

namespace hostprobe::analysis {
namespace {

std::int32_t bits(std::uint64_t word, unsigned shift) { return static_cast<std::int32_t>(word >> shift & 0x1fffff); }

}  // namespace

Histogram histogram_of(const SpansSum& spans, const TickClock& clock) {
  Histogram histogram;
  for (const auto& [bucket, count] : spans.buckets) {
    // The bucket of the longest one is half empty as a rule.
    const double middle = std::min(bucket_middle_ticks(bucket), static_cast<double>(spans.max_ticks));
    histogram.add(clock.length_ns(middle), count);
  }
  if (spans.buckets.empty()) return histogram;
  histogram.set_exact(clock.length_ns(static_cast<double>(spans.ticks)),
                      clock.length_ns(static_cast<double>(spans.max_ticks)));
  return histogram;
}

Timeline::Timeline(const Trace& trace, Symbols& symbols) : trace_(trace), switches_(trace) {
  for (const Hook& hook : trace.hooks)
    functions_.push_back(analysis::function_of(hook, static_cast<std::uint32_t>(functions_.size())));
  for (const Function& function : functions_) is_plain_.push_back(analysis::is_plain_launch(function));
  for (const auto& [key, thread] : trace.threads)
    if (!is_stream(key)) tracks_.push_back({&thread, role_of(trace, thread, symbols)});
}

const Track* Timeline::track_at(std::uint32_t tid, std::uint64_t ticks) const {
  const auto after = std::upper_bound(tracks_.begin(), tracks_.end(), ThreadKey{tid, ticks},
                                      [](const ThreadKey& key, const Track& track) { return key < track.thread->key; });
  if (after != tracks_.begin() && std::prev(after)->key().tid == tid) return &*std::prev(after);
  return after != tracks_.end() && after->key().tid == tid ? &*after : nullptr;
}

// A thread writes its calls down as they end, so what stands behind a call ended later, but for those of signal handlers.
SliceRange Timeline::slices_between(const Track& track, double begin_ns, double end_ns) const {
  const std::vector<Slice>& slices = track.thread->slices;
  TickReader ticks(trace_.clock);
  SliceRange range{0, slices.size()};
  for (std::size_t i = 1; i < slices.size(); ++i) {
    if (ticks.since_first_ns(slices[i].least_end_ticks) < begin_ns) range.begin = i - 1;
  }
  while (range.end > range.begin && ticks.since_first_ns(slices[range.end - 1].least_begin_ticks) >= end_ns)
    --range.end;
  return range;
}

void Timeline::decode_wake(const Record& record, TickReader& ticks, Event& event) const {
  event.site = word(record, event.function->site);
  const std::uint64_t post = word(record, event.function->waker);
  if (post == 0 || event.timed_out) return;
  const std::uint64_t post_at = post_ticks(post, record.end_ticks);
  // A post from before the wait began was not what woke it.
  if (post_at < record.begin_ticks || post_at > record.end_ticks) return;
  event.wake_ns = event.end_ns - ticks.since_first_ns(post_at);
  event.waker = track_at(post_tid(post), post_at);
  if (switches_.any()) tell_run_queue(event);
}

// Runnable from the post on; one that was taken off again behind it was preempted there.
void Timeline::tell_run_queue(Event& event) const {
  const double post_ns = event.end_ns - event.wake_ns;
  const ThreadSwitches* own = switches_.in(event.track->key(), post_ns, event.end_ns);
  if (own != nullptr) event.run_queue_ns = own->between(post_ns, event.end_ns).waiting_ns;
}

void Timeline::decode_words(const Record& record, TickReader& ticks, Event& event) const {
  const Function& function = *event.function;
  if (event.is(Trait{kMarksStep | kCollectsGarbage})) event.work = word(record, function.work);
  if (event.is(kNamesTime)) event.work = word(record, function.name_word);
  if (event.is(kSynchronises)) event.site = word(record, function.site);
  if (event.is(kWaits)) decode_wake(record, ticks, event);
  if (event.is(kNccl)) decode_nccl(record, event);
  event.found_empty = event.is(kSamplesQueue) && word(record, function.empty) != 0;
}

void Timeline::decode_nccl(const Record& record, Event& event) const {
  const Function& function = *event.function;
  // One whose making was not seen cannot be put together with other ranks: it is as good as not known.
  if ((record.flags & kRecordRelative) == 0) event.communicator = word(record, function.communicator);
  if (!function.is(kCollective)) return;
  const std::uint64_t call = word(record, function.call), ranks = word(record, function.ranks);
  event.collective.sequence = static_cast<std::uint32_t>(call);
  event.collective.rank = bits(ranks, 0) - 1;
  event.collective.size = bits(ranks, 21);
  event.collective.peer = bits(ranks, 42) - 1;
  event.collective.begin_monotonic_ns = trace_.clock.monotonic_ns_of(event.begin_ns);
  event.bytes = word(record, function.elements) * bytes_of_nccl_type(call >> 48 & 0xff);
}

bool Timeline::decode_collective(const Record& record, TickReader& ticks, Event& event) const {
  event.set_function(function_of_row(record.hook));
  if (!event.is(kCollective)) return false;
  decode(record, ticks, event);
  return true;
}

namespace {

void decode_launches(std::uint64_t object, const SiteSum& sum, Event& event) {
  const Function& function = *event.function;
  event.captured = (object & kRecordCaptured) != 0;
  const auto count = static_cast<std::int64_t>(event.count);
  if ((object & (kRecordCaptured | kRecordFailed)) != 0)
    event.kernels = 0;
  else if (function.kernels >= 0)
    event.kernels = event.below_limit || (object & kKernelsUnknown) != 0 ? -1 : static_cast<std::int64_t>(sum.amount);
  else
    event.kernels = function.kernels_of_call < 0 ? -1 : function.kernels_of_call * count;
}

}  // namespace

bool Timeline::decode_counter(std::uint64_t place, std::uint64_t object, const SiteSum& sum, Event& event,
                              Distribution& distribution) const {
  event.set_function(function_of_row(sum_hook(place)));
  if (event.function == nullptr) return false;
  event.type = EventType::kCounter;
  event.count = sum.time.count();
  event.site = sum_site(place);
  event.duration_ns = trace_.clock.length_ns(static_cast<double>(sum.time.ticks));
  event.end_ticks = UINT64_MAX;
  distribution.time = histogram_of(sum.time, trace_.clock);
  distribution.wake = histogram_of(sum.wake, trace_.clock);
  distribution.wake_ns = trace_.clock.length_ns(static_cast<double>(sum.wake.ticks));
  event.distribution = &distribution;
  if (event.is(kWaits)) {
    event.on_file = (object & kRecordFile) != 0;
    event.timeouts = sum.amount;
    if (distribution.wake.count() > 0) event.waker = track_at(sum.waker_tid, trace_.last.ticks);
  } else if (event.is(kLaunches)) {
    decode_launches(object, sum, event);
  } else if (event.is(kNccl)) {
    event.communicator = object;
    event.bytes = sum.amount;
  } else if (event.is(kSamplesQueue)) {
    event.found_empty = object != 0;
  } else if (event.is(Trait{kNamesTime | kCollectsGarbage})) {
    event.work = object;
  }
  return true;
}

}  // namespace hostprobe::analysis
