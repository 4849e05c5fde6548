// collective_source.cpp: see collective_source.h.
#include "collective_source.h"

#include <algorithm>
#include <span>
#include <utility>

#include "collective_records.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kLongestGroup = 4096;  // calls; whoever opens groups and never ends them has no GPU times

bool has_collectives(const Timeline& timeline, const Slice& slice) {
  return std::any_of(timeline.functions().begin(), timeline.functions().end(), [&slice](const Function& function) {
    return (function.is(kCollective) || ends_group(function)) &&
           slice.may_hold(static_cast<std::uint16_t>(function.row + 1));
  });
}

// The records of a thread that hold its collectives, some at a time.
class RecordSource {
 public:
  explicit RecordSource(const Records& held) : held_(&held) {}
  explicit RecordSource(std::vector<const Slice*> slices) : slices_(std::move(slices)) {}

  // Empty: there are no more. What comes next on the same thread overwrites it.
  std::span<const Record> next() {
    // Of all sources that are read side by side: a block of each rank of a large job would be more than the job's answer.
    thread_local Records unpacked;
    if (held_ != nullptr) {
      const std::size_t begin = std::exchange(at_, std::min(at_ + kAtATime, held_->size()));
      return std::span(*held_).subspan(begin, at_ - begin);
    }
    unpacked.clear();
    while (unpacked.empty() && at_ < slices_.size()) slices_[at_++]->append_to(unpacked);
    return unpacked;
  }

 private:
  static constexpr std::size_t kAtATime = 256;

  const Records* held_ = nullptr;
  std::vector<const Slice*> slices_;
  std::size_t at_ = 0;  // slice, or held record
};

class ThreadSource {
 public:
  ThreadSource(const Timeline& timeline, const Track& track, RecordSource records,
               std::shared_ptr<const CollectiveKernels> kernels, CollectiveCalls which)
      : timeline_(timeline),
        ticks_(timeline.trace().clock),
        source_(std::move(records)),
        kernels_(std::move(kernels)),
        which_(which) {
    event_.track = &track;
  }

  bool next(CollectiveCall& call) {
    while (at_ == ready_) {
      try {
        if (fill()) continue;
      } catch (const TraceError&) {
        return false;  // somebody changed the file since it was read
      }
      if (at_ == calls_.size()) return false;
      ready_ = calls_.size();
    }
    call = calls_[at_++];
    return true;
  }

 private:
  // False: there is nothing more.
  bool fill() {
    const std::span<const Record> records = source_.next();
    if (records.empty()) return false;
    calls_.erase(calls_.begin(), calls_.begin() + static_cast<std::ptrdiff_t>(at_));
    ready_ -= at_;
    at_ = 0;
    for (const Record& record : records) take(record);
    if (calls_.size() - ready_ > kLongestGroup) ready_ = calls_.size();
    return true;
  }

  void take(const Record& record) {
    if (timeline_.decode_collective(record, ticks_, event_)) {
      const CollectiveCall call = collective_call(event_);
      const bool message = which_ == CollectiveCalls::kMessagesToo && call.communicator != 0 && call.sequence != 0;
      if (!call.meets() && !message) return;
      calls_.push_back(call);
      const bool grouped = (word(record, event_.function->call) >> 32 & 0xffff) != 0;
      if (kernels_ == nullptr || !grouped) find_kernels(event_.begin_ns, event_.end_ns);
    } else if (kernels_ != nullptr && event_.function != nullptr && ends_group(*event_.function)) {
      find_kernels(ticks_.since_first_ns(record.begin_ticks), ticks_.since_first_ns(record.end_ticks));
    }
  }

  // Of all calls that wait for them: one, or those of a group.
  void find_kernels(double begin_ns, double end_ns) {
    if (kernels_ != nullptr) {
      const auto span = kernels_->launched_in(event_.track->key().tid, begin_ns, end_ns);
      const std::size_t calls = calls_.size() - ready_;
      for (std::size_t i = ready_; span && i < calls_.size(); ++i) {
        calls_[i].kernels = span->kernels;
        // One for each, in their order; else NCCL made one of all.
        if (span->kernels.count == calls)
          calls_[i].kernels = {span->kernels.first + static_cast<std::uint32_t>(i - ready_), 1};
        calls_[i].gpu_begin_ns = timeline_.trace().clock.monotonic_ns_of(span->begin_ns);
        calls_[i].gpu_end_ns = timeline_.trace().clock.monotonic_ns_of(span->end_ns);
        calls_[i].gpu_error_ns = span->error_ns;
        calls_[i].shares_kernel = calls > 1;
      }
    }
    ready_ = calls_.size();
  }

  const Timeline& timeline_;
  TickReader ticks_;
  Event event_;
  RecordSource source_;
  std::shared_ptr<const CollectiveKernels> kernels_;
  CollectiveCalls which_;
  std::vector<CollectiveCall> calls_;  // of one slice, and of a group that is open
  std::size_t at_ = 0, ready_ = 0;     // handed out; those before may be
};

}  // namespace

std::vector<CollectiveSource> collective_sources(const Timeline& timeline,
                                                 std::shared_ptr<const CollectiveKernels> kernels,
                                                 CollectiveCalls which) {
  if (kernels != nullptr && kernels->empty()) kernels = nullptr;
  std::vector<CollectiveSource> sources;
  const auto add = [&](const Track& track, RecordSource records) {
    const auto source = std::make_shared<ThreadSource>(timeline, track, std::move(records), kernels, which);
    sources.push_back([source](CollectiveCall& call) { return source->next(call); });
  };
  if (const Timeline::Collectives* held = timeline.collectives(); held != nullptr) {
    for (const auto& [track, records] : *held) add(*track, RecordSource(records));
    return sources;
  }
  for (const Track& track : timeline.tracks()) {
    std::vector<const Slice*> slices;
    for (const Slice& slice : track.thread->slices)
      if (has_collectives(timeline, slice)) slices.push_back(&slice);
    if (!slices.empty()) add(track, RecordSource(std::move(slices)));
  }
  return sources;
}

}  // namespace hostprobe::analysis
