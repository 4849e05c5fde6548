// slow_gpus.cpp: see slow_gpus.h.
#include "slow_gpus.h"

#include <algorithm>

#include "analysis/transfers/quantile.h"

namespace hostprobe::analysis {
namespace {

// Of all other ranks' together.
double usual_elsewhere(const std::vector<KernelDurations>& all, std::size_t member, const std::string& name) {
  std::vector<double> medians;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (const auto found = all[i].find(name); i != member && found != all[i].end())
      medians.push_back(quantile(found->second.ns, 0.5));
  std::sort(medians.begin(), medians.end());
  return quantile(medians, 0.5);
}

// The quarter of this rank's shortest is longer than all but a quarter of every other rank's, for certain.
bool is_longer(const std::vector<KernelDurations>& all, std::size_t member, const std::string& name) {
  const ComparedTimes& own = all[member].at(name);
  bool others = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto found = all[i].find(name);
    if (i == member || found == all[i].end()) continue;
    others = true;
    const double error_ns = std::max(own.error_ns, found->second.error_ns);
    if (quantile(found->second.ns, 0.75) + error_ns >= quantile(own.ns, 0.25)) return false;
  }
  return others;
}

constexpr double kOverlapNs = 1000;       // by which two may seem to overlap
constexpr double kMeasuredNs = 1500;      // what a timing event is wrong by
constexpr std::size_t kFewestAlone = 20;  // of which quarters can be told

struct TimesOfName {
  std::vector<double> alone, all;
};

// What is replayed lasts as long as is usual there, whatever ran beside it.
bool is_measured(const DeviceTimeline& device, const Activity& activity) {
  return device.source != ActivitySource::kEvents || static_cast<double>(activity.error_ns) <= kMeasuredNs;
}

}  // namespace

KernelDurations kernel_durations(const PathGraph& graph, const DeviceTimeline& device) {
  std::map<std::string, TimesOfName> by_name;
  double until_ns = -1e300;  // of all that has begun
  for (std::size_t i = 0; i < graph.numbers.size(); ++i) {
    const Activity& activity = device.activities[graph.numbers[i]];
    const bool first = activity.begin_ns >= until_ns - kOverlapNs;
    const bool last = i + 1 == graph.numbers.size() ||
                      device.activities[graph.numbers[i + 1]].begin_ns >= activity.end_ns - kOverlapNs;
    until_ns = std::max(until_ns, activity.end_ns);
    if (activity.type != ActivityType::kKernel || activity.collective || activity.unknown) continue;
    TimesOfName& times = by_name[device.names[activity.name]];
    times.all.push_back(activity.end_ns - activity.begin_ns);
    if (first && last && is_measured(device, activity)) times.alone.push_back(times.all.back());
  }
  KernelDurations durations;
  for (auto& [name, times] : by_name) {
    std::vector<double>& told = times.alone.size() >= kFewestAlone ? times.alone : times.all;
    std::sort(told.begin(), told.end());
    durations[name] = {std::move(told), device.source == ActivitySource::kEvents ? kMeasuredNs : 0};
  }
  return durations;
}

std::vector<double> slow_gpus(const std::vector<KernelDurations>& all) {
  std::vector<double> slow;
  for (std::size_t i = 0; i < all.size(); ++i) {
    double longer_ns = 0, all_ns = 0, usual_ns = 0;
    for (const auto& [name, times] : all[i]) {
      double sum_ns = 0;
      for (const double ns : times.ns) sum_ns += ns;
      const bool longer = is_longer(all, i, name);
      all_ns += sum_ns;
      longer_ns += longer ? sum_ns : 0;
      usual_ns += longer ? static_cast<double>(times.ns.size()) * usual_elsewhere(all, i, name) : sum_ns;
    }
    slow.push_back(2 * longer_ns > all_ns && usual_ns > 0 ? std::max(1.0, all_ns / usual_ns) : 1);
  }
  return slow;
}

}  // namespace hostprobe::analysis
