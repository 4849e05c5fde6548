// regions.h: the parts of its own time that the program, PyTorch or a library named: how often, how long.
//
// Room 3.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "answer/step.h"
#include "model/timeline.h"

namespace hostprobe::analysis {

class Regions {
 public:
  explicit Regions(const Timeline& timeline) : strings_(&timeline.trace().strings) {}
  void add(const Event& event) {
    if (event.is(kNamesTime) && !event.below_limit && !event.counted) add_region(event);
  }
  void merge(const Regions& other) {
    for (const auto& [key, time] : other.times_) times_[key].add(time);
  }
  // Longest first.
  std::vector<RegionAnswer> finish() const;

 private:
  void add_region(const Event& event) {
    Histogram& time = times_[{event.function, event.work}];
    if (event.distribution != nullptr)
      time.add(event.distribution->time);
    else
      time.add(event.duration_ns);
  }

  const Strings* strings_;
  std::map<std::pair<const Function*, std::uint64_t>, Histogram> times_;
};

}  // namespace hostprobe::analysis
