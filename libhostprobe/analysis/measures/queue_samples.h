// queue_samples.h: which share of launches found their stream empty, from a small sample of them, with its 95 % interval.
//
// Room 3. The probe draws launches at random, each as likely as any other; docs/decisions/0014-queue-samples.md.
#pragma once

#include <optional>

#include "answer/launch.h"
#include "model/timeline.h"

namespace hostprobe::analysis {

class QueueSamples {
 public:
  explicit QueueSamples(const Timeline&) {}
  void add(const Event& event) {
    if (!event.is(kSamplesQueue) || event.counted) return;
    samples_ += event.count;
    if (event.found_empty) empty_ += event.count;
  }
  void merge(const QueueSamples& other) {
    samples_ += other.samples_;
    empty_ += other.empty_;
  }
  // Nothing: there was no sample.
  std::optional<QueueAnswer> finish() const;

 private:
  std::uint64_t samples_ = 0;
  std::uint64_t empty_ = 0;
};

}  // namespace hostprobe::analysis
