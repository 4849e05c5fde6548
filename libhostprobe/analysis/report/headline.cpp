// headline.cpp: see headline.h. Every sentence is a Candidate with the share of wall time it speaks about; the three
// heaviest are kept. A sentence names a cause only where a symbol or a stack proved it (wait_purpose.h).
#include "headline.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "words.h"

namespace hostprobe::analysis {
namespace {

// Shares of wall time, in percent, from which on something is worth a sentence.
constexpr double kWaitPct = 10;
constexpr double kGilPct = 3;
constexpr double kSyncPct = 10;
constexpr double kLaunchSpanPct = 30;  // launching is what this process does for at least this part of its life
constexpr double kWakePct = 1;
constexpr double kNotRunningPct = 3;
constexpr double kOwnCostPct = 0.5;
constexpr double kPeerGapPct = 5;        // between the rank that waits most and the one that waits least
constexpr double kOwnCostWallMs = 1000;  // below, the start of the writer is most of the cost and says nothing
constexpr double kStandsStillMs = 5000;
constexpr std::size_t kMostSentences = 3;

struct Candidate {
  double weight_pct;
  std::string text;
};

// "rank 3", or the process id, or "the program" where there is only one it could be.
std::string who(const RunAnswer& run, const ProcessAnswer& process) {
  if (process.kind == ProcessKind::kRank) return fmt::format("rank {}", process.rank.value_or(0));
  return run.processes.size() == 1 ? "the program" : fmt::format("process {}", process.pid);
}

std::string main_of(const RunAnswer& run, const ProcessAnswer& process) {
  return who(run, process) == "the program" ? "the main thread" : who(run, process) + "'s main thread";
}

std::string sentence(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

// The processes whose speed is the job's: ranks where there are any, else everything that was not forked by another.
std::vector<const ProcessAnswer*> leading(const RunAnswer& run) {
  std::vector<const ProcessAnswer*> result;
  for (const ProcessAnswer& process : run.processes) {
    if (run.ranks > 0 ? process.kind == ProcessKind::kRank : process.kind != ProcessKind::kWorker)
      result.push_back(&process);
  }
  return result;
}

double main_wait_pct(const ProcessAnswer& process, WaitPurpose purpose) {
  double ms = 0;
  for (const WaitSite& site : process.waits) {
    if (site.role == Role::kMain) ms += site.ms_for(purpose);
  }
  return process.wall_share(ms);
}

// "c10d::Reducer::finalize_backward() (libtorch_cpu.so)" without parameters and library.
std::string function_of(const std::string& place) {
  const auto end = place.find('(');
  return printable(end == std::string::npos || end == 0 ? place
                                                        : place.substr(0, place.find_last_not_of(' ', end - 1) + 1));
}

std::string place_of(const WaitSite& site, WaitPurpose purpose) {
  // A gradient exchange is told by the library's own function: in Python it looks like any backward().
  const bool by_code = purpose == WaitPurpose::kPeers && !site.code.empty();
  if (!site.python.empty() && !by_code) return printable(site.python.front().text);
  const bool one_caller = !site.code.empty() && site.code.front().total_ms > 0.5e-6 * site.time.total_ns();
  return one_caller ? shortened(function_of(site.code.front().text), 80)
                    : fmt::format("{} of {}", printable(site.function), printable(site.library));
}

WaitPurpose main_purpose(const WaitSite& site) {
  WaitPurpose best = WaitPurpose::kUnknown;
  for (const auto& [purpose, ms] : site.purpose_ms) {
    if (ms > site.ms_for(best)) best = purpose;
  }
  return best;
}

// What fills the queue (or empties it) is known by who wakes the waiting thread.
std::string queue_advice(const ProcessAnswer& process, const WaitSite& site) {
  const ThreadAnswer* other = process.thread(site.main_waker_thread());
  if (other == nullptr || other->runs.empty()) return "what is on the other side of this queue is the limit";
  if (other->in_data_loader) {
    return fmt::format(
        "{} is on the other side and takes from the DataLoader, so the data loader is the limit: more "
        "workers (num_workers), more prefetching, or cheaper samples",
        printable(other->runs));
  }
  return fmt::format("{} (thread {}) is on the other side and is the limit", printable(other->runs), other->tid);
}

std::string advice(const ProcessAnswer& process, const WaitSite& site) {
  switch (main_purpose(site)) {
    case WaitPurpose::kDataLoader:
      return "the data loader is the limit: more workers (num_workers), more prefetching, or cheaper samples";
    case WaitPurpose::kQueue:
      return queue_advice(process, site);
    case WaitPurpose::kPeers:
      return "it waits for other ranks";
    case WaitPurpose::kGpu:
      return "it waits inside the GPU driver";
    case WaitPurpose::kGil:
      return "other Python threads hold the interpreter lock";
    case WaitPurpose::kUnknown:
      break;
  }
  return site.wakers.empty() ? "look at what it waits for there"
                             : fmt::format("it is woken by {}, so look at what that thread does meanwhile",
                                           role_name(site.main_waker()));
}

std::optional<Candidate> late_rank(const RunAnswer& run) {
  const std::vector<const ProcessAnswer*> ranks = leading(run);
  if (run.ranks < 2) return std::nullopt;
  const auto less = [](const ProcessAnswer* l, const ProcessAnswer* r) {
    return main_wait_pct(*l, WaitPurpose::kPeers) < main_wait_pct(*r, WaitPurpose::kPeers);
  };
  const auto [least, most] = std::minmax_element(ranks.begin(), ranks.end(), less);
  const double least_pct = main_wait_pct(**least, WaitPurpose::kPeers),
               most_pct = main_wait_pct(**most, WaitPurpose::kPeers);
  if (most_pct - least_pct < kPeerGapPct) return std::nullopt;
  return Candidate{
      most_pct - least_pct,
      fmt::format(
          "{} waits {:.0f} % of the run for other ranks, {} only {:.0f} %: the others wait for {}, look there first.",
          who(run, **most), most_pct, who(run, **least), least_pct, who(run, **least))};
}

// One per process: the heaviest wait of its main thread. Waits for other ranks are late_rank's, where one rank is late.
std::optional<Candidate> heaviest_wait(const RunAnswer& run, const ProcessAnswer& process) {
  for (const WaitSite& site : process.waits) {
    if (site.role != Role::kMain || main_purpose(site) == WaitPurpose::kGil) continue;
    const double pct = process.wall_share(1e-6 * site.time.total_ns());
    if (pct < kWaitPct || (main_purpose(site) == WaitPurpose::kPeers && late_rank(run))) return std::nullopt;
    return Candidate{pct, fmt::format("{} waits {:.0f} % of the run in {}: {}.", main_of(run, process), pct,
                                      place_of(site, main_purpose(site)), advice(process, site))};
  }
  return std::nullopt;
}

// Of the same sentence for every process, the one with the heaviest share.
template <typename Tell>
void add_worst(const RunAnswer& run, std::vector<Candidate>& candidates, Tell tell) {
  std::optional<Candidate> worst;
  for (const ProcessAnswer* process : leading(run)) {
    const std::optional<Candidate> candidate = tell(run, *process);
    if (candidate && (!worst || candidate->weight_pct > worst->weight_pct)) worst = candidate;
  }
  if (worst) candidates.push_back(*worst);
}

std::optional<Candidate> interpreter_lock(const RunAnswer& run, const ProcessAnswer& process) {
  const double pct = main_wait_pct(process, WaitPurpose::kGil);
  if (pct < kGilPct) return std::nullopt;
  return Candidate{pct, fmt::format("{} waits {:.1f} % of the run for Python's interpreter lock: move the work of "
                                    "its other Python threads into processes.",
                                    main_of(run, process), pct)};
}

std::optional<Candidate> gpu_waits(const RunAnswer& run, const ProcessAnswer& process) {
  const Histogram& time = process.syncs.time;
  const double pct = process.wall_share(1e-6 * time.total_ns());
  if (time.count() == 0 || pct < kSyncPct) return std::nullopt;
  const double launches = static_cast<double>(process.launches.call.count()) / static_cast<double>(time.count());
  return Candidate{
      pct, fmt::format("{} waits {:.0f} % of the run for the GPU ({} synchronisations, {:.0f} launches between two): "
                       "the GPU is the limit, or it is waited for too often.",
                       who(run, process), pct, grouped(time.count()), launches)};
}

std::optional<Candidate> launch_pace(const RunAnswer& run, const ProcessAnswer& process) {
  const LaunchAnswer& launches = process.launches;
  const double span_pct = process.wall_share(launches.span_ms);
  const double sync_pct = process.wall_share(1e-6 * process.syncs.time.total_ns());
  if (launches.gap.count() == 0 || span_pct < kLaunchSpanPct || sync_pct >= kSyncPct) return std::nullopt;
  return Candidate{
      span_pct - sync_pct,
      fmt::format("{} launches {} kernels, {} each plus {} until the next (medians), and waits for the "
                  "GPU only {:.1f} % of the run: "
                  "the host sets the pace; fewer and larger launches (fusion, graphs) help.",
                  who(run, process), grouped(launches.kernels), duration_text(launches.call.percentile_ns(50)),
                  duration_text(launches.gap.percentile_ns(50)), sync_pct)};
}

std::optional<Candidate> late_wakes(const RunAnswer& run, const ProcessAnswer& process) {
  Histogram wakes;
  for (const WaitSite& site : process.waits) {
    if (site.role == Role::kMain) wakes.add(site.wake);
  }
  const double pct = process.wall_share(1e-6 * wakes.total_ns());
  if (wakes.count() == 0 || pct < kWakePct) return std::nullopt;
  return Candidate{pct,
                   fmt::format("{} runs again late after it was woken ({} wakes, p50 {}, p99 {}): {:.1f} % of the run.",
                               main_of(run, process), grouped(wakes.count()), duration_text(wakes.percentile_ns(50)),
                               duration_text(wakes.percentile_ns(99)), pct)};
}

std::optional<Candidate> not_running(const RunAnswer& run, const ProcessAnswer& process) {
  const ThreadAnswer* thread = process.main_thread();
  if (thread == nullptr || !thread->run_delay_ms) return std::nullopt;
  const double pct = process.wall_share(*thread->run_delay_ms);
  if (pct < kNotRunningPct) return std::nullopt;
  return Candidate{pct, fmt::format("{} was ready to run but had no CPU for {:.0f} % of the run: give the job "
                                    "more CPUs or start fewer threads.",
                                    main_of(run, process), pct)};
}

std::optional<Candidate> dear_probe(const RunAnswer& run, const ProcessAnswer& process) {
  if (!process.own_cost || process.wall_ms < kOwnCostWallMs) return std::nullopt;
  const double pct = process.wall_share(process.own_cost->total_ms());
  if (pct < kOwnCostPct) return std::nullopt;
  return Candidate{
      pct, fmt::format("the probe itself costs {} {:.1f} % of its wall time, so every other number here is too high.",
                       who(run, process), pct)};
}

// Above all else: a job that stands still has no other cause worth reading. A checkpoint takes seconds too.
std::optional<Candidate> stands_still(const RunAnswer& run) {
  if (run.stuck.empty() || run.stuck.front().since_ms < kStandsStillMs) return std::nullopt;
  const StuckCollective& stuck = run.stuck.front();
  const MissingRank& first = stuck.missing.front();
  const std::string others = stuck.missing.size() == 1 ? "" : fmt::format(" and {} more", stuck.missing.size() - 1);
  return Candidate{100, fmt::format("the job stands still: rank {}{} has not entered {} #{} of communicator {}, in "
                                    "which {} of {} ranks wait since {}; look at what it does.",
                                    first.job_rank.value_or(first.rank), others, stuck.operation, stuck.sequence,
                                    stuck.communicator.substr(0, 8), stuck.arrived, stuck.ranks,
                                    duration_text(1e6 * stuck.since_ms))};
}

std::string all_well(const std::vector<const ProcessAnswer*>& processes) {
  double wait_pct = 0, wake_ns = 0;
  for (const ProcessAnswer* process : processes) {
    for (const WaitSite& site : process->waits) {
      if (site.role != Role::kMain) continue;
      wait_pct = std::max(wait_pct, process->wall_share(1e-6 * site.time.total_ns()));
      if (site.wake.count() > 0) wake_ns = std::max(wake_ns, site.wake.percentile_ns(99));
    }
  }
  std::string text = fmt::format(
      "Nothing on the host side stands out: no wait of a main thread takes more than {:.1f} % of the run", wait_pct);
  if (wake_ns > 0) text += fmt::format(", and 99 of 100 wakes take less than {}", duration_text(wake_ns));
  return text + ".";
}

}  // namespace

std::vector<std::string> headline(const RunAnswer& run) {
  if (run.processes.empty()) return {"No trace of this run can be read, so nothing can be said about it."};
  const std::vector<const ProcessAnswer*> processes = leading(run);
  std::vector<Candidate> candidates;
  if (const auto candidate = stands_still(run)) return {sentence(candidate->text)};
  if (const auto candidate = late_rank(run)) candidates.push_back(*candidate);
  for (auto* tell : {heaviest_wait, interpreter_lock, gpu_waits, launch_pace, late_wakes, not_running, dear_probe}) {
    add_worst(run, candidates, tell);
  }
  if (candidates.empty()) return {all_well(processes)};
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& l, const Candidate& r) { return l.weight_pct > r.weight_pct; });
  candidates.resize(std::min(candidates.size(), kMostSentences));
  std::vector<std::string> sentences;
  for (Candidate& candidate : candidates) sentences.push_back(sentence(std::move(candidate.text)));
  return sentences;
}

}  // namespace hostprobe::analysis
