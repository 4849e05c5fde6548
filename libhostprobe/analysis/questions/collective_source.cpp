// collective_source.cpp: see collective_source.h.
#include "collective_source.h"

#include <algorithm>

namespace hostprobe::analysis {
namespace {

bool has_collectives(const Timeline& timeline, const Slice& slice) {
  return std::any_of(timeline.functions().begin(), timeline.functions().end(), [&slice](const Function& function) {
    return function.is(kCollective) && slice.may_hold(static_cast<std::uint16_t>(function.row + 1));
  });
}

class ThreadSource {
 public:
  ThreadSource(const Timeline& timeline, const Track& track, std::vector<const Slice*> slices)
      : timeline_(timeline), ticks_(timeline.trace().clock), slices_(std::move(slices)) {
    event_.track = &track;
  }

  bool next(CollectiveCall& call) {
    while (at_ == calls_.size()) {
      if (slice_ == slices_.size()) return false;
      try {
        fill(*slices_[slice_++]);
      } catch (const TraceError&) {
        return false;  // somebody changed the file since it was read
      }
    }
    call = calls_[at_++];
    return true;
  }

 private:
  void fill(const Slice& slice) {
    at_ = 0;
    calls_.clear();
    records_.clear();
    slice.append_to(records_);
    for (const Record& record : records_) {
      if (!timeline_.decode_collective(record, ticks_, event_)) continue;
      const CollectiveCall call = collective_call(event_);
      if (call.meets()) calls_.push_back(call);
    }
  }

  const Timeline& timeline_;
  TickReader ticks_;
  Event event_;
  std::vector<const Slice*> slices_;
  std::size_t slice_ = 0;
  Records records_;
  std::vector<CollectiveCall> calls_;  // of one slice
  std::size_t at_ = 0;
};

}  // namespace

std::vector<CollectiveSource> collective_sources(const Timeline& timeline) {
  std::vector<CollectiveSource> sources;
  for (const Track& track : timeline.tracks()) {
    std::vector<const Slice*> slices;
    for (const Slice& slice : track.thread->slices)
      if (has_collectives(timeline, slice)) slices.push_back(&slice);
    if (slices.empty()) continue;
    const auto source = std::make_shared<ThreadSource>(timeline, track, std::move(slices));
    sources.push_back([source](CollectiveCall& call) { return source->next(call); });
  }
  return sources;
}

}  // namespace hostprobe::analysis
