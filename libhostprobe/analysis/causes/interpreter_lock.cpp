// interpreter_lock.cpp: the main thread waits for Python's interpreter lock.
#include "detectors.h"

#include "process_finding.h"

namespace hostprobe::analysis {
namespace {

// Who had it most of the time that the main thread waited for it, in the whole run.
void add_holder(Finding& finding, const RunAnswer& run, const ProcessAnswer& process) {
  for (const ProcessAnswer& whole : run.processes) {
    if (whole.trace_path != process.trace_path) continue;
    for (const GilThread& waiter : whole.gil) {
      if (waiter.role != Role::kMain || waiter.holders.empty()) continue;
      finding.evidence.add(InterpreterLockEvidence{.requests = waiter.requests, .total_ms = 1e-6 * waiter.ns});
      const GilHolder& holder = waiter.holders.front();
      finding.evidence.add(HolderEvidence{.held_by = role_name(holder.role),
                                          .held_by_tid = holder.thread.tid,
                                          .held_by_name = whole.thread_title(holder.thread, holder.role),
                                          .held_in = usual_place(whole, holder.thread.tid)});
    }
  }
}

}  // namespace

std::optional<Finding> detect_interpreter_lock(const RunAnswer& run, const ProcessAnswer& process) {
  const double pct = main_wait_pct(process, WaitPurpose::kGil);
  if (pct < least_share_pct(Symptom::kInterpreterLock)) return std::nullopt;
  Finding finding = process_finding(run, process, Symptom::kInterpreterLock, Cause::kGilContention, pct);
  add_holder(finding, run, process);
  return finding;
}

}  // namespace hostprobe::analysis
