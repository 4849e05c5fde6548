// quota.cpp: see quota.h.
#include "quota.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace hostprobe::analysis {

std::vector<Throttled> throttled_times(const Trace& trace) {
  constexpr double kTouchNs = 10e6;  // readings follow each other as closely, but for the rounding to ms
  std::vector<Throttled> times;
  TickReader ticks(trace.clock);
  for (const EventRow& row : trace.events) {
    if (row.kind != kEventThrottled || row.reason == 0) continue;
    const double end_ns = ticks.since_first_ns(row.ticks);
    times.push_back({{end_ns - 1e6 * row.reason, end_ns}, static_cast<double>(row.amount)});
  }
  std::sort(times.begin(), times.end(),
            [](const Throttled& l, const Throttled& r) { return l.window.begin_ns < r.window.begin_ns; });
  std::vector<Throttled> joined;
  for (const Throttled& one : times) {
    if (joined.empty() || one.window.begin_ns > joined.back().window.end_ns + kTouchNs) {
      joined.push_back(one);
      continue;
    }
    joined.back().window.end_ns = std::max(joined.back().window.end_ns, one.window.end_ns);
    joined.back().ns += one.ns;
  }
  return joined;
}

std::optional<QuotaAnswer> answer_quota(const Trace& trace) {
  QuotaAnswer answer;
  for (const EventRow& row : trace.events) {
    if (row.kind != kEventThrottled || row.reason == 0) continue;
    answer.periods += row.number;
    answer.throttled_ns += static_cast<double>(row.amount);
    const std::string text(row.text, strnlen(row.text, sizeof row.text));
    char* rest = nullptr;
    const double cpus = std::strtod(text.c_str(), &rest);
    answer.cpus = std::isfinite(cpus) && cpus > 0 ? cpus : 0;
    answer.group = *rest == ' ' ? rest + 1 : "";
  }
  if (answer.throttled_ns <= 0) return std::nullopt;
  return answer;
}

bool is_bound_by_quota(const ProcessAnswer& process) {
  return process.quota && process.quota->cpus > 0 &&
         (process.cpus == 0 || process.quota->cpus < static_cast<double>(process.cpus));
}

double allowed_cpus(const ProcessAnswer& process) {
  return is_bound_by_quota(process) ? process.quota->cpus : static_cast<double>(process.cpus);
}

}  // namespace hostprobe::analysis
