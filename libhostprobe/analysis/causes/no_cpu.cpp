// no_cpu.cpp: the main thread was ready to run, and no quota explains why it had no CPU.
#include "detectors.h"

#include "process_finding.h"
#include "supply.h"

namespace hostprobe::analysis {

std::optional<Finding> detect_no_cpu(const RunAnswer& run, const ProcessAnswer& process) {
  const double pct = no_cpu_pct(process) - throttled_pct(process);
  if (pct < least_share_pct(Symptom::kNotRunning)) return std::nullopt;
  Finding finding = process_finding(run, process, Symptom::kNotRunning, Cause::kCpuContention, pct);
  const ThreadTime& time = process.main_thread()->time;
  NoCpuEvidence evidence{
      .run_delay_ms = *time.run_delay_ms, .preempted_ms = time.preempted_ms, .run_queue_ms = time.run_queue_ms};
  if (const std::optional<Cpus> cpus = cpus_of(run, process)) {
    if (cpus->are_too_few()) finding.fix = Fix::kMoreCpus;
    evidence.cpus = cpus->allowed;
    evidence.cpus_used = cpus->used;
    evidence.cpus_wanted = cpus->wanted;
  }
  finding.evidence.add(std::move(evidence));
  return finding;
}

}  // namespace hostprobe::analysis
