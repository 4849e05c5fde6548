// shared_work.cpp: see shared_work.h.
#include "shared_work.h"

#include <algorithm>

namespace hostprobe::analysis {
namespace {

const ProcessAnswer* process_of(const Finding& finding, const RunAnswer& run) {
  for (std::uint32_t i = 0; i < run.step_members.size(); ++i)
    if (const ProcessAnswer* one = run.step_member(i); one != nullptr && (finding.pid == 0 || one->pid == finding.pid))
      return one;
  return nullptr;
}

// Of all ranks on the host of that process.
double work_ns(const RunAnswer& run, const ProcessAnswer& process) {
  double ns = 0;
  for (std::uint32_t i = 0; i < run.step_time->cpu_ns.size(); ++i)
    if (const ProcessAnswer* one = run.step_member(i);
        one != nullptr && one->host == process.host && one->boot_id == process.boot_id)
      ns += run.step_time->cpu_ns[i];
  return ns;
}

double cpus_for(const Finding& finding, const ProcessAnswer& process) {
  const auto* mask = finding.evidence.find<MaskEvidence>();
  return static_cast<double>(mask != nullptr ? mask->mask_all_cpus : process.cpus);
}

}  // namespace

void bound_by_work(Finding& finding, const RunAnswer& run) {
  if (finding.fix != Fix::kNumWorkers && finding.fix != Fix::kWidenMask) return;
  const ProcessAnswer* process = process_of(finding, run);
  if (!finding.gain_pct || !run.step_time || run.step_time->length_ns <= 0 || process == nullptr) return;
  const double cpus = cpus_for(finding, *process);
  if (cpus <= 0) return;
  const double most_pct = std::max(0.0, 100 * (1 - work_ns(run, *process) / cpus / run.step_time->length_ns));
  if (*finding.gain_pct <= most_pct) return;
  finding.gain_pct = most_pct;
  finding.gain_limit = GainLimit::kHost;
  for (std::optional<double>* bound : {&finding.gain_low_pct, &finding.gain_high_pct})
    if (*bound) *bound = std::min(**bound, most_pct);
}

}  // namespace hostprobe::analysis
