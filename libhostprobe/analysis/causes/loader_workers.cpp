// loader_workers.cpp: see loader_workers.h.
#include "loader_workers.h"

#include "supply.h"

namespace hostprobe::analysis {

void add_workers(Finding& finding, const RunAnswer& run, const ProcessAnswer& process) {
  if (finding.cause != Cause::kDataloaderWait) return;
  const Workers workers = workers_of(run, process);
  if (workers.are_busy()) finding.fix = Fix::kNumWorkers;
  if (workers.count == 0) return;
  finding.evidence.add(WorkersEvidence{.workers = workers.count,
                                       .workers_cpu_pct = workers.cpu_pct,
                                       .workers_no_cpu_pct = workers.no_cpu_pct,
                                       .workers_wait_in = workers.wait});
}

}  // namespace hostprobe::analysis
