// finding_text.cpp: see finding_text.h.
#include "finding_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "advice_text.h"
#include "lost_time_text.h"
#include "news.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostSentences = 3;
constexpr double kLeastUnknownPct = 1;  // of the steps, to be told where all is well

// "rank 3", or the process id, or "the program" where there is only one it could be.
std::string who(const Finding& finding) {
  if (finding.rank) return fmt::format("rank {}", *finding.rank);
  return finding.only_process ? "the program" : fmt::format("process {}", finding.pid);
}

std::string main_of(const Finding& finding) {
  return who(finding) == "the program" ? "the main thread" : who(finding) + "'s main thread";
}

// What its share is of: "12 % of the run". Counters of a start-up cannot be told from those of the steps.
std::string of_whole(const Finding& finding) {
  const char* whole = "";
  switch (finding.whole()) {
    case Whole::kRun:
      whole = " of the run";
      break;
    case Whole::kSteps:
      whole = " of the steps";
      break;
    case Whole::kOneStep:
      whole = " of the step";
      break;
    case Whole::kReadPart:
      whole = " of what was read";
  }
  return finding.with_start_up ? fmt::format("{} (start-up included)", whole) : whole;
}

// Nobody is advised to change what may lie before the first step.
std::string advised(const Finding& finding, const std::string& what, const std::string& advice) {
  return advice.empty() || finding.with_start_up ? what + "." : fmt::format("{}: {}.", what, advice);
}

std::string us_text(double us) { return duration_text(1e3 * us); }

// "c10d::Reducer::finalize_backward() (libtorch_cpu.so)" without parameters and library.
std::string function_of(const std::string& place) {
  const auto end = place.find('(');
  return printable(end == std::string::npos || end == 0 ? place
                                                        : place.substr(0, place.find_last_not_of(' ', end - 1) + 1));
}

std::string place_of(const Finding& finding) {
  const LongWaitEvidence& wait = finding.evidence.of<LongWaitEvidence>();
  if (!wait.python.empty()) return printable(wait.python);
  if (!wait.code.empty()) return shortened(function_of(wait.code), 80);
  return fmt::format("{} of {}", printable(finding.site->function), printable(finding.site->library));
}

std::string queue_advice(const Finding& finding) {
  const LongWaitEvidence& wait = finding.evidence.of<LongWaitEvidence>();
  const std::string runs = printable(wait.other_side_runs);
  if (runs.empty()) return "what is on the other side of this queue is the limit";
  if (finding.cause == Cause::kDataloaderWait) {
    return fmt::format("{} is on the other side and takes from the DataLoader, so the data loader is the limit: {}",
                       runs, loader_advice(finding.evidence));
  }
  return fmt::format("{} (thread {}) is on the other side and is the limit", runs, wait.other_side_tid.value_or(0));
}

std::string wait_advice(const Finding& finding) {
  const LongWaitEvidence& wait = finding.evidence.of<LongWaitEvidence>();
  switch (wait.purpose) {
    case WaitedFor::kDataLoader:
      return "the data loader is the limit: " + loader_advice(finding.evidence);
    case WaitedFor::kQueue:
      return queue_advice(finding);
    case WaitedFor::kPeers:
      return "it waits for other ranks";
    case WaitedFor::kGpu:
      return "it waits inside the GPU driver";
    case WaitedFor::kGil:
      return "other Python threads hold the interpreter lock";
    case WaitedFor::kSleep:
    case WaitedFor::kUnknown:
      break;
  }
  return wait.woken_by.empty()
             ? "look at what it waits for there"
             : fmt::format("it is woken by {}, so look at what that thread does meanwhile", wait.woken_by);
}

std::string long_wait(const Finding& finding) {
  const LongWaitEvidence& wait = finding.evidence.of<LongWaitEvidence>();
  if (wait.purpose == WaitedFor::kSleep) {
    const bool known = !wait.python.empty() || !wait.code.empty();
    return fmt::format("{} sleeps {:.0f} %{}{}.", main_of(finding), finding.share_pct, of_whole(finding),
                       known ? " in " + place_of(finding) : "");
  }
  return advised(finding,
                 fmt::format("{} waits {:.0f} %{} in {}", main_of(finding), finding.share_pct, of_whole(finding),
                             place_of(finding)),
                 wait_advice(finding));
}

std::string standstill(const Finding& finding) {
  const StandstillEvidence& seen = finding.evidence.of<StandstillEvidence>();
  const std::string others = seen.missing == 1 ? "" : fmt::format(" and {} more", seen.missing - 1);
  return fmt::format(
      "the job stands still: rank {}{} has not entered {} #{} of communicator {}, in which {} of {} ranks wait since "
      "{}; "
      "look at what it does.",
      finding.rank.value_or(0), others, seen.op, seen.sequence, seen.comm.substr(0, 8), seen.arrived, seen.ranks,
      duration_text(1e6 * seen.since_ms));
}

std::string gpu_stalls(const Finding& finding) {
  const std::string calls = grouped(finding.evidence.of<GpuStallsEvidence>().count);
  const std::string spends = fmt::format("{} spends {:.1f} %{}", who(finding), finding.share_pct, of_whole(finding));
  return advised(finding,
                 finding.cause == Cause::kAllocStall
                     ? fmt::format("{} allocating and freeing GPU memory ({} long calls)", spends, calls)
                     : fmt::format("{} in asynchronous copies that did not return at once ({} of them)", spends, calls),
                 fix_text(finding));
}

std::string no_cpu(const Finding& finding) {
  return advised(finding,
                 fmt::format("{} was ready to run but had no CPU for {:.0f} %{}", main_of(finding), finding.share_pct,
                             of_whole(finding)),
                 supply_advice(finding));
}

std::string stopped(const Finding& finding) {
  const StoppedEvidence& seen = finding.evidence.of<StoppedEvidence>();
  return advised(finding,
                 fmt::format("{} was stopped from outside for {:.1f} %{} ({} times, the longest {} at {:.1f} s)",
                             who(finding), finding.share_pct, of_whole(finding), grouped(seen.count),
                             duration_text(1e6 * seen.longest_ms), 1e-3 * seen.longest_at_ms),
                 usual_advice(finding.cause));
}

std::string throttled(const Finding& finding) {
  return advised(finding,
                 fmt::format("{} was ready to run but held back by the CPU quota of its group for {:.1f} %{}",
                             main_of(finding), finding.share_pct, of_whole(finding)),
                 fix_text(finding));
}

std::string late_wakes(const Finding& finding) {
  const LateWakesEvidence& seen = finding.evidence.of<LateWakesEvidence>();
  return fmt::format("{} runs again late after it was woken ({} wakes, p50 {}, p99 {}): {:.1f} %{}.", main_of(finding),
                     grouped(seen.wakes), us_text(seen.wake_p50_us), us_text(seen.wake_p99_us), finding.share_pct,
                     of_whole(finding));
}

std::string late_rank(const Finding& finding) {
  const LateRankEvidence& seen = finding.evidence.of<LateRankEvidence>();
  return advised(finding,
                 fmt::format("rank {} waits {:.0f} %{} for other ranks, {} only {:.0f} %", seen.waits_most_rank,
                             seen.waits_most_pct, of_whole(finding), who(finding), seen.waits_pct),
                 fmt::format("the others wait for {}, look there first", who(finding)));
}

std::string interpreter_lock(const Finding& finding) {
  std::string holder = holder_text(finding.evidence);
  if (!holder.empty()) holder = fmt::format(", most of it while {} had it", holder);
  return advised(finding,
                 fmt::format("{} waits {:.1f} %{} for Python's interpreter lock{}", main_of(finding), finding.share_pct,
                             of_whole(finding), holder),
                 fix_text(finding));
}

std::string garbage(const Finding& finding) {
  const GarbageEvidence& seen = finding.evidence.of<GarbageEvidence>();
  return advised(
      finding,
      fmt::format("Python in {} stops for {:.1f} %{} to collect garbage ({} times, {} of them generation {}, the "
                  "longest {})",
                  who(finding), finding.share_pct, of_whole(finding), grouped(seen.count), grouped(seen.oldest_count),
                  seen.oldest_generation, duration_text(1e6 * seen.max_ms)),
      fix_text(finding));
}

std::string own_cost(const Finding& finding) {
  return fmt::format("the probe itself costs {} {:.1f} % of its {}, so every other number here is too high.",
                     who(finding), finding.share_pct, finding.of_steps ? "steps" : "wall time");
}

std::string plain_text(const Finding& finding) {
  switch (finding.symptom) {
    case Symptom::kJobStandsStill:
      return standstill(finding);
    case Symptom::kRankIsLate:
      return late_rank(finding);
    case Symptom::kLongWait:
      return long_wait(finding);
    case Symptom::kInterpreterLock:
      return interpreter_lock(finding);
    case Symptom::kGarbage:
      return garbage(finding);
    case Symptom::kGpuStalls:
      return gpu_stalls(finding);
    case Symptom::kLateWakes:
      return late_wakes(finding);
    case Symptom::kNotRunning:
      return no_cpu(finding);
    case Symptom::kStopped:
      return stopped(finding);
    case Symptom::kThrottled:
      return throttled(finding);
    case Symptom::kOwnCost:
      return own_cost(finding);
    default:  // a cause without words of its own has those of its row
      return lost_time_text(finding, finding.rank || finding.pid != 0 ? who(finding) : "the job");
  }
}

std::string all_well(const RunAnswer& run) {
  for (const ProcessAnswer& process : run.processes)
    if (is_read_in_part(process))
      return "What was read of this run shows nothing that stands out; what is missing may: see LOST OR DAMAGED.";
  if (run.step_time && run.step_time->length_ns > 0) {
    const char* whole = run.one_step ? "step" : run.steps.lengths.count > 0 ? "steps" : "run";
    const double works_pct = run.step_time->share_pct(Cause::kGpuBound),
                 unknown_pct = run.step_time->share_pct(Cause::kUnknown);
    if (unknown_pct > works_pct)
      return fmt::format(
          "Nothing on the host side stands out, but in {:.1f} % of the {} nobody knows whether the GPU works.",
          unknown_pct, whole);
    std::string text = fmt::format("Nothing on the host side stands out: the {} works in {:.1f} % of the {}",
                                   run.uses_gpu() ? "GPU" : "program itself", works_pct, whole);
    if (unknown_pct >= kLeastUnknownPct)
      text += fmt::format(", and in {:.1f} % nobody knows whether it does", unknown_pct);
    return text + ".";
  }
  const WorstWaits& worst = run.worst_waits;
  std::string text =
      fmt::format("Nothing on the host side stands out: no wait of a main thread takes more than {:.1f} % of the run",
                  worst.wait_pct);
  if (worst.wake_p99_ns > 0)
    text += fmt::format(", and 99 of 100 wakes take less than {}", duration_text(worst.wake_p99_ns));
  return text + ".";
}

}  // namespace

std::string finding_text(const Finding& finding) {
  std::string text = plain_text(finding);
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

std::vector<std::string> headline(const RunAnswer& run) {
  if (run.processes.empty() && !run.kernel.files.empty())
    return {
        "This run holds what the kernel recorded, and no process of a job: record one into the same folder with "
        "`hostprobe run -o`."};
  if (run.processes.empty()) return {"No trace of this run can be read, so nothing can be said about it."};
  std::vector<std::string> sentences = news(run);
  if (sentences.size() > kMostSentences) sentences.resize(kMostSentences);
  if (run.findings.empty() && sentences.empty()) return {all_well(run)};
  for (const Finding& finding : run.findings)
    if (sentences.size() < kMostSentences) sentences.push_back(finding_text(finding));
  return sentences;
}

}  // namespace hostprobe::analysis
