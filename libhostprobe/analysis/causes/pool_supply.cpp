// pool_supply.cpp: see pool_supply.h.
#include "pool_supply.h"

#include <algorithm>
#include <optional>

#include "analysis/measures/pools.h"
#include "analysis/measures/run_delay.h"

namespace hostprobe::analysis {
namespace {

bool is_of_supply(const Finding& finding) { return is_lack_of_cpu(finding.cause); }

std::vector<const ProcessAnswer*> all_of(const RunAnswer& run) {
  std::vector<const ProcessAnswer*> all;
  for (const ProcessAnswer& process : run.processes) all.push_back(&process);
  return all;
}

PoolEvidence evidence_of(const PoolDemand& demand) {
  PoolEvidence evidence{.pool_library = demand.library,
                        .pool_threads = demand.threads,
                        .pool_processes = demand.processes,
                        .pool_at_a_time = demand.at_a_time,
                        .pool_cpus = demand.cpus,
                        .pool_cpus_by = demand.of_quota ? "quota" : "mask",
                        .pool_spins_pct = 100 * demand.spins_part,
                        .pool_spins_low_pct = 100 * demand.spins_low,
                        .pool_spins_high_pct = 100 * demand.spins_high,
                        .pool_spins_in = demand.place,
                        .pool_fits = demand.fitting_threads()};
  if (demand.work_step_ns > 0) evidence.pool_work_ms = 1e-6 * demand.work_step_ns;
  return evidence;
}

// The step without what was lost, and with the work of all its threads done by as many as fit. In percent of the step.
double gain_pct(const Finding& finding, const PoolEvidence& pool, double work_pct) {
  const double threads = static_cast<double>(pool.pool_threads) / static_cast<double>(pool.pool_processes);
  if (threads <= 1) return finding.share_pct;
  const double own_pct = work_pct / (threads - 1);  // the part of the thread that gives out the work
  const double gain = finding.share_pct + own_pct - (work_pct + own_pct) / static_cast<double>(pool.pool_fits);
  return std::clamp(gain, 0.0, finding.share_pct);
}

void set_gain(Finding& finding, const RunAnswer& run) {
  const PoolEvidence& pool = finding.evidence.of<PoolEvidence>();
  if (!finding.gain_pct || !pool.pool_work_ms || !run.step_time || pool.pool_spins_pct >= 100) return;
  const double step_ms = 1e-6 * run.step_time->length_ns / static_cast<double>(run.step_time->steps);
  const auto gain = [&](double spins_pct) {
    const double work_ms = *pool.pool_work_ms * (100 - spins_pct) / (100 - pool.pool_spins_pct);
    return gain_pct(finding, pool, 100 * work_ms / step_ms);
  };
  finding.gain_pct = gain(pool.pool_spins_pct);
  if (finding.gain_low_pct) finding.gain_low_pct = gain(pool.pool_spins_low_pct);
  if (finding.gain_high_pct) finding.gain_high_pct = gain(pool.pool_spins_high_pct);
  finding.gain_limit = GainLimit::kNone;
}

// What of a share is not gained by fewer threads is the work that these have to do.
void tell_limit(Finding& finding) {
  if (!finding.gain_pct || finding.gain_limit != GainLimit::kNone) return;
  if (is_clearly_less(*finding.gain_pct, finding.share_pct, 100)) finding.gain_limit = GainLimit::kHost;
}

void add_share(Finding& finding, const Finding& other) {
  finding.share_pct += other.share_pct;
  if (finding.ms_per_step && other.ms_per_step) *finding.ms_per_step += *other.ms_per_step;
}

}  // namespace

void add_pools(Finding& finding, const RunAnswer& run, const ProcessAnswer& process) {
  if (!is_of_supply(finding)) return;
  if (finding.evidence.find<PoolEvidence>() == nullptr) {
    const std::optional<PoolDemand> demand = pools_beyond_cpus(all_of(run), process);
    if (!demand) return;
    finding.evidence.add(evidence_of(*demand));
  }
  finding.fix = Fix::kFewerThreads;
}

void join_pools(std::vector<Finding>& findings, const RunAnswer& run) {
  for (auto first = findings.begin(); first != findings.end(); ++first) {
    if (first->fix != Fix::kFewerThreads) continue;
    for (auto second = first + 1; second != findings.end();) {
      if (second->fix != Fix::kFewerThreads || second->rank != first->rank || second->pid != first->pid) {
        ++second;
        continue;
      }
      // The heavier one has the better place.
      if (second->share_pct > first->share_pct) std::swap(*first, *second);
      add_share(*first, *second);
      second = findings.erase(second);
    }
    set_gain(*first, run);
    tell_limit(*first);
  }
}

}  // namespace hostprobe::analysis
