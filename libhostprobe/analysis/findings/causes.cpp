// causes.cpp: see causes.h.
#include "causes.h"

#include <algorithm>
#include <utility>

#include "analysis/measures/import_answer.h"
#include "analysis/measures/wait_purpose.h"
#include "analysis/ranks/open_waits.h"
#include "step_findings.h"
#include "supply.h"

namespace hostprobe::analysis {
namespace {

// Shares of wall time, in percent, from which on something is a finding.
constexpr double kWaitPct = 10;
constexpr double kGilPct = 3;
constexpr double kGcPct = 3;
constexpr double kSyncPct = 10;
constexpr double kStallPct = 3;
constexpr double kLaunchSpanPct = 30;  // launching is what this process does for at least this part of its life
constexpr double kWakePct = 1;
constexpr double kNotRunningPct = 3;
constexpr double kStoppedPct = 3;
constexpr double kOwnCostPct = 0.5;
constexpr double kOwnCostInStepsPct = 3;  // beside findings about steps; what it is stands in every report
constexpr double kPeerGapPct = 5;         // between the rank that waits most and the one that waits least
constexpr double kOwnCostWallMs = 1000;   // below, the start of the writer is most of the cost and says nothing
constexpr double kStandsStillMs = 5000;

// The processes whose speed is the job's: ranks where there are any, else everything that was not forked by another.
std::vector<const ProcessAnswer*> leading(const RunAnswer& run) {
  std::vector<const ProcessAnswer*> result;
  for (const ProcessAnswer& process : run.processes) {
    if (run.ranks > 0 ? process.kind == ProcessKind::kRank : process.kind != ProcessKind::kWorker)
      result.push_back(&process);
  }
  return result;
}

Finding finding_of(const RunAnswer& run, const ProcessAnswer& process, Symptom symptom, std::string cause,
                   double share_pct) {
  Finding finding;
  finding.cause = std::move(cause);
  finding.symptom = symptom;
  if (process.kind == ProcessKind::kRank) finding.rank = process.rank.value_or(0);
  finding.pid = process.pid;
  finding.only_process = run.processes.size() == 1;
  finding.share_pct = share_pct;
  return finding;
}

bool holds_part(const RunAnswer& run) {
  return std::any_of(run.processes.begin(), run.processes.end(),
                     [](const ProcessAnswer& process) { return is_read_in_part(process); });
}

double main_wait_pct(const ProcessAnswer& process, WaitPurpose purpose) {
  double pct = 0;
  for (const WaitSite& site : process.waits) {
    if (site.role == Role::kMain) pct += site.share_for(purpose);
  }
  return std::min(100.0, pct);
}

// Ready to run, and not running.
double no_cpu_pct(const ProcessAnswer& process) {
  const ThreadAnswer* thread = process.main_thread();
  if (thread == nullptr || !thread->time.run_delay_ms || thread->time.wall_ms <= 0) return 0;
  return 100 * *thread->time.run_delay_ms / thread->time.wall_ms;
}

// Without a CPU everything takes long: a lack of it that weighs more comes first, and silences what it explains.
bool is_for_lack_of_cpu(const ProcessAnswer& process, double pct) {
  return no_cpu_pct(process) >= std::max(kNotRunningPct, pct);
}

WaitPurpose main_purpose(const WaitSite& site) {
  WaitPurpose best = WaitPurpose::kUnknown;
  for (const auto& [purpose, ms] : site.purpose_ms) {
    if (ms > site.ms_for(best)) best = purpose;
  }
  return best;
}

void add_place(Finding& finding, const WaitSite& site, WaitPurpose purpose) {
  // A gradient exchange is told by the library's own function: in Python it looks like any backward().
  const bool by_code = purpose == WaitPurpose::kPeers && !site.code.empty();
  const bool one_caller = !site.code.empty() && site.code.front().total_ms > 0.5e-6 * site.time.total_ns();
  if (!site.python.empty() && !by_code)
    finding.evidence.add("python", site.python.front().text);
  else if (one_caller)
    finding.evidence.add("code", site.code.front().text);
}

// What fills the queue (or empties it) is known by who wakes the waiting thread.
void add_other_side(Finding& finding, const ProcessAnswer& process, const WaitSite& site) {
  const ThreadAnswer* other = process.thread(site.main_waker_thread());
  if (other == nullptr || other->runs.empty()) return;
  finding.evidence.add("other_side_runs", other->runs);
  finding.evidence.add("other_side_tid", std::uint64_t{other->tid});
  if (other->in_data_loader) finding.cause = "dataloader_wait";
}

void add_purpose(Finding& finding, const ProcessAnswer& process, const WaitSite& site) {
  switch (main_purpose(site)) {
    case WaitPurpose::kDataLoader:
      finding.cause = "dataloader_wait";
      finding.evidence.add("purpose", "data_loader");
      break;
    case WaitPurpose::kQueue:
      finding.evidence.add("purpose", "queue");
      add_other_side(finding, process, site);
      break;
    case WaitPurpose::kPeers:
      finding.cause = "waits_for_rank";
      finding.evidence.add("purpose", "peers");
      break;
    case WaitPurpose::kGpu:
      finding.cause = "sync_calls";
      finding.evidence.add("purpose", "gpu");
      break;
    case WaitPurpose::kGil:
      finding.cause = "gil_contention";
      finding.evidence.add("purpose", "gil");
      break;
    case WaitPurpose::kUnknown:
      if (is_sleep(site.function))
        finding.evidence.add("purpose", "sleep");
      else if (!site.wakers.empty())
        finding.evidence.add("woken_by", role_name(site.main_waker()));
      break;
  }
}

// More of them help only where those that are there have no time left.
void add_workers(Finding& finding, const RunAnswer& run, const ProcessAnswer& process) {
  if (finding.cause != "dataloader_wait") return;
  const Workers workers = workers_of(run, process);
  if (workers.are_busy()) finding.fix = "num_workers";
  if (workers.count == 0) return;
  finding.evidence.add("workers", workers.count);
  finding.evidence.add("workers_cpu_pct", workers.cpu_pct);
  finding.evidence.add("workers_no_cpu_pct", workers.no_cpu_pct);
  if (!workers.wait.empty()) finding.evidence.add("workers_wait_in", workers.wait);
}

// Counters have no place in time. What is known of them is that all but so much of it was in steps.
bool may_be_start_up(const ProcessAnswer& process, const Finding& finding) {
  if (process.steps.lengths.count == 0 || finding.of_steps) return false;
  const double outside_ms = process.wall_ms - 1e-6 * process.steps.lengths.total_ns;
  return outside_ms > 0.5 * 1e-2 * finding.share_pct * process.wall_ms;
}

// Nobody is advised to change what lies before the first step, where imports collect garbage and wait for files.
void leave_start_up(const ProcessAnswer& process, Finding& finding) {
  finding.with_start_up = may_be_start_up(process, finding);
  if (finding.with_start_up) finding.fix.clear();
}

std::optional<Finding> late_rank(const RunAnswer& run) {
  const std::vector<const ProcessAnswer*> ranks = leading(run);
  if (run.ranks < 2 || holds_part(run)) return std::nullopt;
  const auto less = [](const ProcessAnswer* l, const ProcessAnswer* r) {
    return main_wait_pct(l->in_steps(), WaitPurpose::kPeers) < main_wait_pct(r->in_steps(), WaitPurpose::kPeers);
  };
  const auto [least, most] = std::minmax_element(ranks.begin(), ranks.end(), less);
  const double least_pct = main_wait_pct((*least)->in_steps(), WaitPurpose::kPeers),
               most_pct = main_wait_pct((*most)->in_steps(), WaitPurpose::kPeers);
  if (most_pct - least_pct < kPeerGapPct) return std::nullopt;
  Finding finding = finding_of(run, **least, Symptom::kRankIsLate, "slow_rank", most_pct - least_pct);
  finding.evidence.add("waits_pct", least_pct);
  finding.evidence.add("waits_most_rank", std::uint64_t((*most)->rank.value_or(0)));
  finding.evidence.add("waits_most_pct", most_pct);
  finding.of_steps = (*least)->steady != nullptr;
  leave_start_up(**least, finding);
  return finding;
}

// One per process: the heaviest wait of its main thread. Waits for other ranks are late_rank's, where one rank is late.
std::optional<Finding> heaviest_wait(const RunAnswer& run, const ProcessAnswer& process) {
  for (const WaitSite& site : process.waits) {
    if (site.role != Role::kMain || main_purpose(site) == WaitPurpose::kGil) continue;
    // News, and told as such.
    if (site.open_ms > 1e-6 * site.time.total_ns() && process.end != EndState::kEnded) continue;
    if (is_driver_library(site.library) && process.syncs.time.count() > 0)
      continue;  // the synchronise around it is told
    const double pct = site.share_pct;
    if (pct < kWaitPct || (main_purpose(site) == WaitPurpose::kPeers && late_rank(run))) return std::nullopt;
    Finding finding = finding_of(run, process, Symptom::kLongWait, "unexplained", pct);
    finding.site = FindingSite{site.function, site.library, site.role, site.stack};
    finding.evidence.add("count", site.time.count());
    finding.evidence.add("total_ms", 1e-6 * site.time.total_ns());
    finding.evidence.add("p50_us", 1e-3 * site.time.percentile_ns(50));
    finding.evidence.add("p99_us", 1e-3 * site.time.percentile_ns(99));
    add_place(finding, site, main_purpose(site));
    add_purpose(finding, process, site);
    add_workers(finding, run, process);
    return finding;
  }
  return std::nullopt;
}

// In percent, where something knows what ran on the GPU.
std::optional<double> gpu_idle_pct(const ProcessAnswer& process) {
  if (process.gpu.idle_in_steps_pct || !process.gpu.busy_ms) return process.gpu.idle_in_steps_pct;
  return 100 - process.wall_share(*process.gpu.busy_ms);
}

// Who had it most of the time that the main thread waited for it, in the whole run.
void add_holder(Finding& finding, const RunAnswer& run, const ProcessAnswer& process) {
  for (const ProcessAnswer& whole : run.processes) {
    if (whole.trace_path != process.trace_path) continue;
    for (const GilThread& waiter : whole.gil) {
      if (waiter.role != Role::kMain || waiter.holders.empty()) continue;
      finding.evidence.add("requests", waiter.requests);
      finding.evidence.add("total_ms", 1e-6 * waiter.ns);
      const GilHolder& holder = waiter.holders.front();
      finding.evidence.add("held_by", role_name(holder.role));
      finding.evidence.add("held_by_tid", std::uint64_t{holder.thread.tid});
      finding.evidence.add("held_by_name", whole.thread_title(holder.thread, holder.role));
    }
  }
}

std::optional<Finding> interpreter_lock(const RunAnswer& run, const ProcessAnswer& process) {
  const double pct = main_wait_pct(process, WaitPurpose::kGil);
  if (pct < kGilPct) return std::nullopt;
  Finding finding = finding_of(run, process, Symptom::kInterpreterLock, "gil_contention", pct);
  finding.fix = "processes";
  add_holder(finding, run, process);
  return finding;
}

// Of the steps, where there are any; else of the later half of its life, because imports make most garbage.
double garbage_pct(const ProcessAnswer& process) {
  const StepAnswer& steps = process.steps;
  const GcAnswer& gc = *process.gc;
  if (steps.end_ns > steps.begin_ns) return 100 * gc.in_steps_ns / (steps.end_ns - steps.begin_ns);
  const double all_pct = process.wall_share(1e-6 * gc.time.total_ns());
  const bool is_placed = gc.placed_ns >= 0.9 * gc.time.total_ns() && gc.later_half_ns > 0;
  return is_placed ? std::min(all_pct, 100 * gc.late_ns / gc.later_half_ns) : all_pct;
}

// A GPU that has work meanwhile does not lose the time.
std::optional<Finding> garbage(const RunAnswer& run, const ProcessAnswer& process) {
  if (!process.gc || process.gc->time.count() == 0) return std::nullopt;
  const StepAnswer& steps = process.steps;
  const bool of_steps = steps.end_ns > steps.begin_ns;
  const double pct = garbage_pct(process);
  if (pct < kGcPct || gpu_idle_pct(process).value_or(100) < kGcPct) return std::nullopt;
  Finding finding = finding_of(run, process, Symptom::kGarbage, "gc_pause", pct);
  finding.of_steps = of_steps;
  finding.fix = "gc";
  const auto& oldest = *process.gc->by_generation.rbegin();
  finding.evidence.add("count", process.gc->time.count());
  finding.evidence.add("total_ms", 1e-6 * process.gc->time.total_ns());
  finding.evidence.add("max_ms", 1e-6 * process.gc->time.max_ns());
  finding.evidence.add("oldest_generation", oldest.first);
  finding.evidence.add("oldest_count", oldest.second.count());
  return finding;
}

std::optional<Finding> gpu_waits(const RunAnswer& run, const ProcessAnswer& process) {
  const Histogram& time = process.syncs.time;
  const double pct = process.syncs.share_pct;
  if (time.count() == 0 || pct < kSyncPct || is_for_lack_of_cpu(process, pct)) return std::nullopt;
  Finding finding = finding_of(run, process, Symptom::kGpuWaits, "sync_calls", pct);
  finding.evidence.add("count", time.count());
  finding.evidence.add("total_ms", 1e-6 * time.total_ns());
  finding.evidence.add("launches_between",
                       static_cast<double>(process.launches.call.count()) / static_cast<double>(time.count()));
  return finding;
}

// Calls that are to give the GPU work, or memory, and wait for it instead.
std::optional<Finding> gpu_stalls(const RunAnswer& run, const ProcessAnswer& process) {
  const GpuStall &memory = process.syncs.memory, &copies = process.syncs.copies;
  const bool is_memory = memory.share_pct >= copies.share_pct;
  const GpuStall& stall = is_memory ? memory : copies;
  if (stall.share_pct < kStallPct || is_for_lack_of_cpu(process, stall.share_pct)) return std::nullopt;
  Finding finding =
      finding_of(run, process, Symptom::kGpuStalls, is_memory ? "alloc_stall" : "pageable_copy", stall.share_pct);
  finding.fix = is_memory ? "keep_memory" : "pin_memory";
  finding.evidence.add("count", stall.count);
  finding.evidence.add("total_ms", stall.total_ms());
  return finding;
}

std::optional<Finding> launch_pace(const RunAnswer& run, const ProcessAnswer& process) {
  const LaunchAnswer& launches = process.launches;
  const double span_pct = process.wall_share(launches.span_ms);
  const double sync_pct = process.syncs.share_pct, own_pct = span_pct - sync_pct - no_cpu_pct(process);
  if (launches.gap.count() == 0 || span_pct < kLaunchSpanPct || sync_pct >= kSyncPct) return std::nullopt;
  if (is_for_lack_of_cpu(process, own_pct)) return std::nullopt;
  // A GPU that has work nearly all the time does not wait for launches.
  if (const auto idle_pct = gpu_idle_pct(process); idle_pct && *idle_pct < kLaunchSpanPct) return std::nullopt;
  Finding finding = finding_of(run, process, Symptom::kLaunchPace, "launch_bound", own_pct);
  finding.fix = "batch_launch";
  finding.evidence.add("launches", launches.call.count());
  if (launches.kernels) finding.evidence.add("kernels", *launches.kernels);
  finding.evidence.add("call_p50_us", 1e-3 * launches.call.percentile_ns(50));
  finding.evidence.add("gap_p50_us", 1e-3 * launches.gap.percentile_ns(50));
  finding.evidence.add("sync_pct", sync_pct);
  return finding;
}

std::optional<Finding> late_wakes(const RunAnswer& run, const ProcessAnswer& process) {
  Histogram wakes;
  for (const WaitSite& site : process.waits) {
    if (site.role == Role::kMain) wakes.add(site.wake);
  }
  const double pct = std::min(100.0, process.wall_share(1e-6 * wakes.total_ns()));
  // A run queue explains them where the thread was in one for as long.
  if (wakes.count() == 0 || pct < kWakePct || is_for_lack_of_cpu(process, 0.5 * pct)) return std::nullopt;
  Finding finding = finding_of(run, process, Symptom::kLateWakes, "unexplained", pct);
  finding.evidence.add("wakes", wakes.count());
  finding.evidence.add("wake_p50_us", 1e-3 * wakes.percentile_ns(50));
  finding.evidence.add("wake_p99_us", 1e-3 * wakes.percentile_ns(99));
  return finding;
}

std::optional<Finding> stopped(const RunAnswer& run, const ProcessAnswer& process) {
  double ns = 0;
  const Window* longest = nullptr;
  for (const Window& halt : process.halts) {
    ns += halt.length_ns();
    if (longest == nullptr || halt.length_ns() > longest->length_ns()) longest = &halt;
  }
  const double pct = process.wall_share(1e-6 * ns);
  if (longest == nullptr || pct < kStoppedPct) return std::nullopt;
  Finding finding = finding_of(run, process, Symptom::kStopped, "process_stopped", pct);
  finding.evidence.add("count", std::uint64_t{process.halts.size()});
  finding.evidence.add("total_ms", 1e-6 * ns);
  finding.evidence.add("first_at_ms", 1e-6 * process.halts.front().begin_ns);
  finding.evidence.add("last_at_ms", 1e-6 * process.halts.back().begin_ns);
  finding.evidence.add("longest_ms", 1e-6 * longest->length_ns());
  finding.evidence.add("longest_at_ms", 1e-6 * longest->begin_ns);
  return finding;
}

// Of the time in which the main thread was ready and had no CPU, what its group's quota can have been.
double throttled_pct(const ProcessAnswer& process) {
  if (!process.quota) return 0;
  return std::min(no_cpu_pct(process), process.wall_share(1e-6 * process.quota->throttled_ns));
}

std::optional<Finding> throttled(const RunAnswer& run, const ProcessAnswer& process) {
  const double pct = throttled_pct(process);
  if (pct < kNotRunningPct) return std::nullopt;
  Finding finding = finding_of(run, process, Symptom::kThrottled, "cpu_throttle", pct);
  finding.fix = "raise_quota";
  finding.evidence.add("periods", process.quota->periods);
  finding.evidence.add("throttled_ms", 1e-6 * process.quota->throttled_ns);
  if (process.quota->cpus > 0) finding.evidence.add("quota_cpus", process.quota->cpus);
  if (const std::optional<Cpus> cpus = cpus_of(run, process)) {
    finding.evidence.add("cpus_used", cpus->used);
    finding.evidence.add("cpus_wanted", cpus->wanted);
  }
  finding.evidence.add("group", process.quota->group);
  return finding;
}

std::optional<Finding> not_running(const RunAnswer& run, const ProcessAnswer& process) {
  const double pct = no_cpu_pct(process) - throttled_pct(process);
  if (pct < kNotRunningPct) return std::nullopt;
  Finding finding = finding_of(run, process, Symptom::kNotRunning, "cpu_contention", pct);
  if (const std::optional<Cpus> cpus = cpus_of(run, process)) {
    if (cpus->are_too_few()) finding.fix = "more_cpus";
    finding.evidence.add("cpus", cpus->allowed);
    finding.evidence.add("cpus_used", cpus->used);
    finding.evidence.add("cpus_wanted", cpus->wanted);
  }
  const ThreadTime& time = process.main_thread()->time;
  finding.evidence.add("run_delay_ms", *time.run_delay_ms);
  if (time.preempted_ms) finding.evidence.add("preempted_ms", *time.preempted_ms);
  if (time.run_queue_ms) finding.evidence.add("run_queue_ms", *time.run_queue_ms);
  return finding;
}

std::optional<Finding> dear_probe(const RunAnswer& run, const ProcessAnswer& process) {
  if (!process.own_cost || process.wall_ms < kOwnCostWallMs) return std::nullopt;
  const double pct = process.wall_share(process.own_cost->total_ms());
  if (pct < kOwnCostPct) return std::nullopt;
  Finding finding = finding_of(run, process, Symptom::kOwnCost, "own_cost", pct);
  finding.evidence.add("total_ms", process.own_cost->total_ms());
  return finding;
}

// Above all else: a job that stands still has no other cause worth reading. A checkpoint takes seconds too.
std::optional<Finding> stands_still(const RunAnswer& run) {
  if (run.stuck.empty() || run.stuck.front().since_ms < kStandsStillMs) return std::nullopt;
  const StuckCollective& stuck = run.stuck.front();
  const MissingRank& first = stuck.missing.front();
  Finding finding;
  finding.cause = "slow_rank";
  finding.symptom = Symptom::kJobStandsStill;
  finding.rank = first.job_rank.value_or(first.rank);
  finding.share_pct = 100;
  finding.evidence.add("op", stuck.operation);
  finding.evidence.add("sequence", std::uint64_t{stuck.sequence});
  finding.evidence.add("comm", stuck.communicator);
  finding.evidence.add("missing", std::uint64_t{stuck.missing.size()});
  finding.evidence.add("arrived", std::uint64_t{stuck.arrived});
  finding.evidence.add("ranks", std::uint64_t{stuck.ranks});
  finding.evidence.add("since_ms", stuck.since_ms);
  return finding;
}

using Ask = std::optional<Finding> (*)(const RunAnswer&, const ProcessAnswer&);

// Of the same symptom in several processes, the one that costs most.
std::optional<Finding> worst_of(const RunAnswer& run, Ask ask) {
  std::optional<Finding> worst;
  for (const ProcessAnswer* process : leading(run)) {
    // That it waits little for the GPU is known only where all of its calls are.
    if (ask == launch_pace && is_read_in_part(*process)) continue;
    // The others are of the whole, or know of steps themselves.
    const bool whole_delay = ask == not_running && !process->steps.steps.empty();
    const bool of_steps = process->steady != nullptr && !whole_delay && ask != stopped && ask != throttled &&
                          ask != dear_probe && ask != garbage;
    std::optional<Finding> finding = ask(run, of_steps ? process->in_steps() : *process);
    if (finding && of_steps) finding->of_steps = true;
    if (finding) finding->of_part = is_read_in_part(*process);
    if (finding && ask != stopped && ask != throttled && ask != dear_probe) leave_start_up(*process, *finding);
    if (finding && process->kind != ProcessKind::kRank) finding->rank.reset();
    if (finding && (!worst || finding->share_pct > worst->share_pct)) worst = std::move(finding);
  }
  return worst;
}

// What else is known of the same cause in that process: how often, by what, what is there to do.
void add_counts(const RunAnswer& run, Finding& finding) {
  for (const ProcessAnswer& process : run.processes) {
    if (process.pid != finding.pid) continue;
    add_workers(finding, run, process);
    for (Ask ask :
         {heaviest_wait, interpreter_lock, gpu_stalls, launch_pace, not_running, stopped, throttled, garbage}) {
      const bool is_of_whole = ask == stopped || ask == throttled;
      const std::optional<Finding> same = ask(run, is_of_whole ? process : process.in_steps());
      if (!same || same->cause != finding.cause) continue;
      if (finding.fix.empty()) finding.fix = same->fix;
      for (const auto& [name, value] : same->evidence.values()) finding.evidence.add_new(name, value);
    }
  }
}

std::vector<Finding> causes_of(const RunAnswer& run) {
  if (auto finding = stands_still(run)) return {std::move(*finding)};
  // Where the time of the steps went explains all but the probe's own cost.
  if (run.step_time) {
    std::vector<Finding> findings = find_in_steps(run);
    for (Finding& finding : findings) add_counts(run, finding);
    if (auto worst = worst_of(run, dear_probe); worst && worst->share_pct >= kOwnCostInStepsPct)
      findings.push_back(std::move(*worst));
    return findings;
  }
  std::vector<Finding> findings;
  if (auto finding = late_rank(run)) findings.push_back(std::move(*finding));
  for (auto* ask : {heaviest_wait, interpreter_lock, gpu_waits, gpu_stalls, launch_pace, late_wakes, not_running,
                    stopped, throttled, dear_probe, garbage})
    if (auto worst = worst_of(run, ask)) findings.push_back(std::move(*worst));
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& l, const Finding& r) {
    return std::pair(r.with_start_up, l.share_pct) > std::pair(l.with_start_up, r.share_pct);
  });
  return findings;
}

}  // namespace

std::vector<Finding> find_causes(const RunAnswer& run) {
  std::vector<Finding> findings = causes_of(run);
  for (Finding& finding : findings) finding.of_one_step = run.one_step.has_value();
  return findings;
}

WorstWaits worst_waits(const RunAnswer& run) {
  WorstWaits worst;
  for (const ProcessAnswer* process : leading(run)) {
    for (const WaitSite& site : process->in_steps().waits) {
      if (site.role != Role::kMain) continue;
      worst.wait_pct = std::max(worst.wait_pct, site.share_pct);
      if (site.wake.count() > 0) worst.wake_p99_ns = std::max(worst.wake_p99_ns, site.wake.percentile_ns(99));
    }
  }
  return worst;
}

}  // namespace hostprobe::analysis
