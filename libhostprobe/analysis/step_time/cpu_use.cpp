// cpu_use.cpp: see cpu_use.h.
#include "cpu_use.h"

#include <algorithm>

namespace hostprobe::analysis {

CpuUse::CpuUse(const std::map<ThreadKey, ThreadSamples>& samples) {
  for (const auto& [key, own] : samples) {
    if (own.supply.empty()) continue;
    std::vector<Rate>& rates = threads_.emplace_back();
    for (const SupplySample& one : own.supply)
      if (one.end_ns > one.begin_ns)
        rates.push_back({{one.begin_ns, one.end_ns}, std::min(1.0, one.cpu_ns / (one.end_ns - one.begin_ns))});
  }
}

double CpuUse::cpus_in(const Window& window) const {
  if (window.length_ns() <= 0) return 0;
  double cpu_ns = 0;
  for (const std::vector<Rate>& rates : threads_) {
    auto one = std::partition_point(rates.begin(), rates.end(),
                                    [&](const Rate& some) { return some.window.end_ns <= window.begin_ns; });
    for (; one != rates.end() && one->window.begin_ns < window.end_ns; ++one)
      cpu_ns += one->cpus * inside_ns(one->window, window);
  }
  return cpu_ns / window.length_ns();
}

}  // namespace hostprobe::analysis
