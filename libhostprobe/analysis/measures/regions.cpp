// regions.cpp: see regions.h.
#include "regions.h"

#include <algorithm>
#include <tuple>

namespace hostprobe::analysis {

std::vector<RegionAnswer> Regions::finish() const {
  std::vector<RegionAnswer> answers;
  for (const auto& [key, time] : times_)
    answers.push_back({std::string(strings_->text(key.second)), key.first->name, time});
  std::sort(answers.begin(), answers.end(), [](const RegionAnswer& l, const RegionAnswer& r) {
    if (l.time.total_ns() != r.time.total_ns()) return l.time.total_ns() > r.time.total_ns();
    return std::tie(l.source, l.name) < std::tie(r.source, r.name);
  });
  return answers;
}

}  // namespace hostprobe::analysis
