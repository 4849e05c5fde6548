// long_wait.cpp: the heaviest wait of a process's main thread, and what it is for. Waits for other ranks are late_rank's,
// where one rank is late.
#include "detectors.h"

#include "analysis/measures/wait_purpose.h"
#include "loader_workers.h"
#include "process_finding.h"

namespace hostprobe::analysis {
namespace {

WaitPurpose main_purpose(const WaitSite& site) {
  WaitPurpose best = WaitPurpose::kUnknown;
  for (const auto& [purpose, ms] : site.purpose_ms) {
    if (ms > site.ms_for(best)) best = purpose;
  }
  return best;
}

void add_place(const WaitSite& site, WaitPurpose purpose, LongWaitEvidence& evidence) {
  // A gradient exchange is told by the library's own function: in Python it looks like any backward().
  const bool by_code = purpose == WaitPurpose::kPeers && !site.code.empty();
  const bool one_caller = !site.code.empty() && site.code.front().total_ms > 0.5e-6 * site.time.total_ns();
  if (!site.python.empty() && !by_code)
    evidence.python = site.python.front().text;
  else if (one_caller)
    evidence.code = site.code.front().text;
}

// What fills the queue (or empties it) is known by who wakes the waiting thread. Returns the cause.
Cause add_other_side(const ProcessAnswer& process, const WaitSite& site, LongWaitEvidence& evidence) {
  const ThreadAnswer* other = process.thread(site.main_waker_thread());
  if (other == nullptr || other->runs.empty()) return Cause::kUnexplained;
  evidence.other_side_runs = other->runs;
  evidence.other_side_tid = other->tid;
  return other->in_data_loader ? Cause::kDataloaderWait : Cause::kUnexplained;
}

Cause add_purpose(const ProcessAnswer& process, const WaitSite& site, LongWaitEvidence& evidence) {
  switch (main_purpose(site)) {
    case WaitPurpose::kDataLoader:
      evidence.purpose = WaitedFor::kDataLoader;
      return Cause::kDataloaderWait;
    case WaitPurpose::kQueue:
      evidence.purpose = WaitedFor::kQueue;
      return add_other_side(process, site, evidence);
    case WaitPurpose::kPeers:
      evidence.purpose = WaitedFor::kPeers;
      return Cause::kWaitsForRank;
    case WaitPurpose::kGpu:
      evidence.purpose = WaitedFor::kGpu;
      return Cause::kSyncCalls;
    case WaitPurpose::kGil:
      evidence.purpose = WaitedFor::kGil;
      return Cause::kGilContention;
    case WaitPurpose::kUnknown:
      if (site.kind == CallKind::kLock) return Cause::kLockContention;
      if (site.kind == CallKind::kSleep)
        evidence.purpose = WaitedFor::kSleep;
      else if (!site.wakers.empty())
        evidence.woken_by = role_name(site.main_waker());
      break;
  }
  return Cause::kUnexplained;
}

// Told elsewhere: an open wait of a living process is news, and the synchronise around a wait of the driver is a cause.
bool is_told_elsewhere(const ProcessAnswer& process, const WaitSite& site) {
  if (main_purpose(site) == WaitPurpose::kGil) return true;
  if (site.open_ms > 1e-6 * site.time.total_ns() && process.end != EndState::kEnded) return true;
  return is_driver_library(site.library) && process.syncs.time.count() > 0;
}

}  // namespace

std::optional<Finding> detect_long_wait(const RunAnswer& run, const ProcessAnswer& process) {
  for (const WaitSite& site : process.waits) {
    if (site.role != Role::kMain || is_told_elsewhere(process, site)) continue;
    const double pct = site.share_pct;
    if (pct < least_share_pct(Symptom::kLongWait)) return std::nullopt;
    if (main_purpose(site) == WaitPurpose::kPeers && detect_late_rank(run)) return std::nullopt;
    LongWaitEvidence evidence{.count = site.time.count(),
                              .total_ms = 1e-6 * site.time.total_ns(),
                              .p50_us = 1e-3 * site.time.percentile_ns(50),
                              .p99_us = 1e-3 * site.time.percentile_ns(99)};
    add_place(site, main_purpose(site), evidence);
    Finding finding = process_finding(run, process, Symptom::kLongWait, Cause::kUnexplained, pct);
    finding.cause = add_purpose(process, site, evidence);
    finding.site = FindingSite{site.function, site.library, site.role, site.stack, site.kind};
    finding.evidence.add(std::move(evidence));
    add_workers(finding, run, process);
    return finding;
  }
  return std::nullopt;
}

}  // namespace hostprobe::analysis
