// launch_pairs.cpp: see launch_pairs.h.
#include "launch_pairs.h"

namespace hostprobe::analysis {

void LaunchPairs::merge(const LaunchPairs& other) {
  all_.add(other.all_);
  apart_.add(other.apart_);
  switched_.add(other.switched_);
  switches_ += other.switches_;
  no_cpu_ns_ += other.no_cpu_ns_;
}

std::optional<double> LaunchPairs::tail_pct(double limit_ns) const {
  const std::uint64_t in_b = switched_.count_above(limit_ns), above = in_b + apart_.count_above(limit_ns);
  if (above == 0) return std::nullopt;
  return 100.0 * static_cast<double>(in_b) / static_cast<double>(above);
}

LaunchPairAnswer LaunchPairs::finish(double run_ns, std::uint64_t launches) const {
  LaunchPairAnswer answer;
  answer.count = all_.count();
  if (answer.count == 0) return answer;
  answer.p95_ns = all_.percentile_ns(95);
  answer.p99_ns = all_.percentile_ns(99);
  if (apart_.count() + switched_.count() == 0) return answer;
  answer.switched = switched_.count();
  answer.no_cpu_ms = 1e-6 * no_cpu_ns_;
  if (run_ns > 0) answer.no_cpu_pct = 100 * no_cpu_ns_ / run_ns;
  if (launches > 0) answer.switches_per_1000 = 1000.0 * static_cast<double>(switches_) / static_cast<double>(launches);
  answer.tail95_pct = tail_pct(*answer.p95_ns);
  answer.tail99_pct = tail_pct(*answer.p99_ns);
  if (switched_.count() == 0) answer.impact_pct = 0;
  if (switched_.count() == 0 || apart_.count() == 0) return answer;
  answer.penalty_ns = switched_.percentile_ns(50) - apart_.percentile_ns(50);
  if (run_ns > 0) answer.impact_pct = 100 * static_cast<double>(switched_.count()) * *answer.penalty_ns / run_ns;
  return answer;
}

}  // namespace hostprobe::analysis
