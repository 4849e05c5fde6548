// slow_gpus.cpp: see slow_gpus.h.
#include "slow_gpus.h"

#include <algorithm>

#include "quantile.h"

namespace hostprobe::analysis {
namespace {

// Of all other ranks' together.
double usual_elsewhere(const std::vector<KernelDurations>& all, std::size_t member, const std::string& name) {
  std::vector<double> medians;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (const auto found = all[i].find(name); i != member && found != all[i].end())
      medians.push_back(quantile(found->second, 0.5));
  std::sort(medians.begin(), medians.end());
  return quantile(medians, 0.5);
}

// The quarter of this rank's shortest is longer than all but a quarter of every other rank's.
bool is_longer(const std::vector<KernelDurations>& all, std::size_t member, const std::string& name) {
  const std::vector<double>& own = all[member].at(name);
  bool others = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto found = all[i].find(name);
    if (i == member || found == all[i].end()) continue;
    others = true;
    if (quantile(found->second, 0.75) >= quantile(own, 0.25)) return false;
  }
  return others;
}

}  // namespace

KernelDurations kernel_durations(const PathGraph& graph, const DeviceTimeline& device) {
  std::vector<std::vector<double>> by_name(device.names.size());
  for (const std::uint32_t number : graph.numbers) {
    const Activity& activity = device.activities[number];
    if (activity.type == ActivityType::kKernel && !activity.collective && !activity.unknown)
      by_name[activity.name].push_back(activity.end_ns - activity.begin_ns);
  }
  KernelDurations durations;
  for (std::size_t i = 0; i < by_name.size(); ++i) {
    std::vector<double>& all = durations[device.names[i]];
    all.insert(all.end(), by_name[i].begin(), by_name[i].end());
  }
  std::erase_if(durations, [](const auto& one) { return one.second.empty(); });
  for (auto& [name, all] : durations) std::sort(all.begin(), all.end());
  return durations;
}

std::vector<double> slow_gpus(const std::vector<KernelDurations>& all) {
  std::vector<double> slow;
  for (std::size_t i = 0; i < all.size(); ++i) {
    double longer_ns = 0, all_ns = 0, usual_ns = 0;
    for (const auto& [name, durations] : all[i]) {
      double sum_ns = 0;
      for (const double ns : durations) sum_ns += ns;
      const bool longer = is_longer(all, i, name);
      all_ns += sum_ns;
      longer_ns += longer ? sum_ns : 0;
      usual_ns += longer ? static_cast<double>(durations.size()) * usual_elsewhere(all, i, name) : sum_ns;
    }
    slow.push_back(2 * longer_ns > all_ns && usual_ns > 0 ? std::max(1.0, all_ns / usual_ns) : 1);
  }
  return slow;
}

}  // namespace hostprobe::analysis
