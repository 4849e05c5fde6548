// collective_records.h: the records of a process's collectives, for those who put the ranks together.
//
// Room 3. Each of them reads the calls of all ranks side by side (collective_source.h), once more. They are a small part of a
// trace, so they are taken aside where all of it is walked anyway.
#pragma once

#include "model/timeline.h"

namespace hostprobe::analysis {

inline bool ends_group(const Function& function) { return function.role == HookRole::kGroupEnd; }

class CollectiveRecords {
 public:
  explicit CollectiveRecords(const Timeline&) {}
  void add(const Event& event) {
    if (event.is(kNccl) && event.type == EventType::kCall && (event.is(kCollective) || ends_group(*event.function)))
      of(event).push_back(*event.record);
  }
  // Threads are walked whole, so no thread is in both.
  void merge(CollectiveRecords&& other) {
    records_.merge(other.records_);
    track_ = nullptr;
  }
  Timeline::Collectives finish() { return std::move(records_); }

 private:
  Records& of(const Event& event) {
    if (event.track != track_) own_ = &records_[event.track];
    track_ = event.track;
    return *own_;
  }

  Timeline::Collectives records_;
  const Track* track_ = nullptr;
  Records* own_ = nullptr;
};

}  // namespace hostprobe::analysis
