// loader_workers.cpp: see loader_workers.h.
#include "loader_workers.h"

#include <algorithm>

#include "analysis/measures/process_task.h"
#include "supply.h"

namespace hostprobe::analysis {
namespace {

constexpr double kLeastBusy = 0.01;  // of a worker's time: who waits for its orders all the time makes something too

// What is asked may be the process as it was in the steps, which is an answer of its own.
bool makes_steps(const RunAnswer& run, std::uint32_t member, const ProcessAnswer& process) {
  return run.step_members[member] == process.trace_path;
}

const LoaderTime* loader_of(const RunAnswer& run, const ProcessAnswer& process) {
  if (!run.step_time) return nullptr;
  for (std::uint32_t i = 0; i < run.step_time->loaders.size(); ++i)
    if (makes_steps(run, i, process)) return &run.step_time->loaders[i];
  return nullptr;
}

double busy_part(const LoaderWorkerTime& worker) {
  return std::clamp(1 - worker.idle_ns / worker.loading_ns, kLeastBusy, 1.0);
}

LoaderWaitsEvidence seen_of(const LoaderTime& loader) {
  LoaderWaitsEvidence seen{.loader_held_pct = 100 * loader.held_ns / loader.waited_ns,
                           .loader_handing_pct = 100 * loader.handing_ns / loader.waited_ns,
                           .loader_restarting_pct = 100 * loader.restarting_ns / loader.waited_ns,
                           .loader_restarts = loader.restarts};
  for (const LoaderWorkerTime& worker : loader.workers) {
    if (worker.loading_ns <= 0) continue;
    const double pct = 100 * busy_part(worker);
    seen.loader_least_busy_pct = std::min(seen.loader_least_busy_pct.value_or(pct), pct);
    seen.loader_most_busy_pct = std::max(seen.loader_most_busy_pct.value_or(pct), pct);
  }
  return seen;
}

// Each worker makes as many samples as any other, and the busy ones take all the time for theirs. Where none has to wait its turn, they make
// as many together as each can in its own pace: the time for the same samples is divided by the mean of 1 / busy part.
double without_turns_pct(const LoaderTime& loader) {
  double sum = 0, count = 0;
  for (const LoaderWorkerTime& worker : loader.workers)
    if (worker.loading_ns > 0) sum += 1 / busy_part(worker), ++count;
  return sum > 0 ? 100 * (1 - count / sum) : 100;
}

void bound_gain(Finding& finding, double part, double most_pct) {
  for (std::optional<double>* pct : {&finding.gain_pct, &finding.gain_low_pct, &finding.gain_high_pct})
    if (*pct) *pct = std::min(part * **pct, most_pct);
}

// The remedy for the largest part of the wait, with what it alone gains.
void choose_remedy(Finding& finding, const LoaderTime& loader) {
  const double held = loader.held_ns / loader.waited_ns, restarting = loader.restarting_ns / loader.waited_ns,
               handing = loader.handing_ns / loader.waited_ns;
  const double most = std::max({held, restarting, handing, 1 - held - restarting - handing});
  if (most == restarting) {
    finding.fix = Fix::kPersistentWorkers;
    bound_gain(finding, restarting, 100);
  } else if (most == held) {
    finding.fix = Fix::kInOrder;
    bound_gain(finding, held, without_turns_pct(loader));
  } else if (most == handing) {
    finding.fix = Fix::kNone;
    bound_gain(finding, handing, 100);
  }
}

bool is_worker_of(const RunAnswer& run, const ProcessAnswer& process, std::uint32_t tid) {
  return std::any_of(run.processes.begin(), run.processes.end(), [&](const ProcessAnswer& worker) {
    return loads_for(worker, process) && std::any_of(worker.threads.begin(), worker.threads.end(),
                                                     [tid](const ThreadAnswer& thread) { return thread.tid == tid; });
  });
}

// Most of what they need the time for has a cause, and a remedy, of its own: pages of the disk, files.
bool wait_more_than_they_compute(const RunAnswer& run, const ProcessAnswer& process) {
  double own_ns = 0, others_ns = 0;
  if (!run.step_time) return false;
  for (const LostTime& lost : run.step_time->lost) {
    if (!makes_steps(run, lost.member, process)) continue;
    if (lost.cause == Cause::kDataloaderWait) own_ns += lost.ns;
    const bool is_other = lost.cause == Cause::kPageFaults || lost.cause == Cause::kFileIo;
    if (is_other && is_worker_of(run, process, lost.site.tid)) others_ns += lost.ns;
  }
  return others_ns > own_ns;
}

}  // namespace

void add_workers(Finding& finding, const RunAnswer& run, const ProcessAnswer& process) {
  if (finding.cause != Cause::kDataloaderWait) return;
  const Workers workers = workers_of(run, process);
  if (workers.are_busy() && !wait_more_than_they_compute(run, process)) finding.fix = Fix::kNumWorkers;
  if (workers.count == 0) return;
  finding.evidence.add(WorkersEvidence{.workers = workers.count,
                                       .workers_cpu_pct = workers.cpu_pct,
                                       .workers_no_cpu_pct = workers.no_cpu_pct,
                                       .workers_wait_in = workers.wait});
  const LoaderTime* loader = loader_of(run, process);
  if (loader == nullptr || loader->waited_ns <= 0) return;
  const LoaderWaitsEvidence seen = seen_of(*loader);
  finding.evidence.add(seen);
  if (seen.loader_most_busy_pct.value_or(100) < kBusyPct) finding.fix = Fix::kNone;
  choose_remedy(finding, *loader);
}

}  // namespace hostprobe::analysis
