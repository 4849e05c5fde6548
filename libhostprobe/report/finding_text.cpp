// finding_text.cpp: see finding_text.h.
#include "finding_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "advice_text.h"
#include "cpu_demand.h"
#include "loader_workers.h"
#include "lost_time_text.h"
#include "sentence.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

// "rank 3", or the process id, or "the program" where there is only one it could be.
std::string who(const Finding& finding) {
  if (finding.rank) return fmt::format("rank {}", *finding.rank);
  if (finding.pid == 0) return finding.only_process ? "the program" : "the job";
  return finding.only_process ? "the program" : fmt::format("process {}", finding.pid);
}

std::string main_of(const Finding& finding) {
  return who(finding) == "the program" ? "the main thread" : who(finding) + "'s main thread";
}

// "12 % of the run". Counters of a start-up cannot be told from those of the steps.
std::string share_text(const Finding& finding) {
  const char* whole = "";
  switch (finding.whole()) {
    case Whole::kRun:
      whole = "the run";
      break;
    case Whole::kSteps:
      whole = "each step";
      break;
    case Whole::kOneStep:
      whole = "the step";
      break;
    case Whole::kReadPart:
      whole = "what was read";
  }
  const int digits = finding.share_pct < 9.95 ? 1 : 0;
  return fmt::format("{:.{}f} % of {}{}", finding.share_pct, digits, whole,
                     finding.with_start_up ? " (start-up included)" : "");
}

std::string cost_text(const Finding& finding) {
  if (finding.ms_per_step)
    return fmt::format("{}{} · {:.0f} %", duration_text(1e6 * *finding.ms_per_step),
                       finding.of_one_step ? "" : " a step", finding.share_pct);
  return share_text(finding);
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

Advice with_limit(const std::string& limit, Advice advice) {
  advice.because = advice.because.empty() ? limit : limit + ": " + advice.because;
  return advice;
}

Advice queue_advice(const Finding& finding) {
  const LongWaitEvidence& wait = finding.evidence.of<LongWaitEvidence>();
  const std::string runs = printable(wait.other_side_runs);
  if (runs.empty()) return {"", "look at what is on the other side of this queue: it is the limit"};
  if (finding.cause == Cause::kDataloaderWait)
    return with_limit(fmt::format("{} is on the other side and takes from the DataLoader, which is the limit", runs),
                      loader_advice(finding.evidence));
  return {fmt::format("{} (thread {}) is on the other side and is the limit", runs, wait.other_side_tid.value_or(0)),
          "make that thread faster, or let it work ahead"};
}

Advice wait_advice(const Finding& finding) {
  const LongWaitEvidence& wait = finding.evidence.of<LongWaitEvidence>();
  switch (wait.purpose) {
    case WaitedFor::kDataLoader:
      return with_limit("the data loader is the limit", loader_advice(finding.evidence));
    case WaitedFor::kQueue:
      return queue_advice(finding);
    case WaitedFor::kPeers:
      return {"it waits for other ranks", ""};
    case WaitedFor::kGpu:
      return {"it waits inside the GPU driver", ""};
    case WaitedFor::kGil:
      return {"other Python threads hold the interpreter lock", fix_text(finding)};
    case WaitedFor::kSleep:
      return {};
    case WaitedFor::kUnknown:
      break;
  }
  if (finding.cause == Cause::kLockContention) return {"", fix_text(finding)};
  return wait.woken_by.empty()
             ? Advice{"", "look at what it waits for there"}
             : Advice{fmt::format("it is woken by {}", wait.woken_by), "look at what that thread does meanwhile"};
}

// What a symptom has to say: who does what, and further words.
struct Saying {
  std::string subject;  // of "spends …"
  std::string what;     // "waiting for …"
  Advice advice;
  std::string whole = {};  // a sentence that is no "spends …"
};

Saying long_wait(const Finding& finding) {
  const LongWaitEvidence& wait = finding.evidence.of<LongWaitEvidence>();
  const bool sleeps = wait.purpose == WaitedFor::kSleep;
  const bool known = !wait.python.empty() || !wait.code.empty();
  const std::string place = sleeps && !known ? "" : " in " + place_of(finding);
  return {main_of(finding), (sleeps ? "asleep" : "waiting") + place, wait_advice(finding)};
}

Saying standstill(const Finding& finding) {
  const StandstillEvidence& seen = finding.evidence.of<StandstillEvidence>();
  const std::string others = seen.missing == 1 ? "" : fmt::format(" and {} more", seen.missing - 1);
  const std::string which =
      seen.comm.empty() ? "" : fmt::format(" #{} of communicator {}", seen.sequence, seen.comm.substr(0, 8));
  const std::string is_in = seen.missing_in.empty() ? ""
                                                    : fmt::format("rank {} is in {}", finding.rank.value_or(0),
                                                                  shortened_place(printable(seen.missing_in), 64));
  return {
      "",
      "",
      {is_in, "look at what it does (hostprobe stacks)"},
      fmt::format("the job stands still: rank {}{} has not entered {}{}, in which {} of {} ranks have waited for {}",
                  finding.rank.value_or(0), others, seen.op, which, seen.arrived, seen.ranks,
                  duration_text(1e6 * seen.since_ms))};
}

Saying stuck_child(const Finding& finding) {
  const StuckChildEvidence& seen = finding.evidence.of<StuckChildEvidence>();
  const std::string line =
      seen.child_line.empty() ? "" : ", called in " + shortened_place(printable(seen.child_line), 64);
  return {"",
          "",
          {"that thread stayed with its parent when it was forked",
           "start such a process by spawn or forkserver, or give it no threads to share work with (OMP_NUM_THREADS=1, "
           "torch.set_num_threads(1))"},
          fmt::format(
              "{} waits for its child, process {}, which waits for ever in {}{}: it has one thread, and only another "
              "one of its own could wake it",
              who(finding), seen.child_pid, seen.child_in, line)};
}

Saying late_rank(const Finding& finding) {
  const LateRankEvidence& seen = finding.evidence.of<LateRankEvidence>();
  return {
      "",
      "",
      {"", fmt::format("look at {} first: the others wait for it", who(finding))},
      fmt::format("rank {} spends {:.0f} % of the {} waiting for other ranks, {} only {:.0f} %", seen.waits_most_rank,
                  seen.waits_most_pct, finding.of_steps ? "steps" : "run", who(finding), seen.waits_pct)};
}

Saying gpu_stalls(const Finding& finding) {
  const std::string calls = grouped(finding.evidence.of<GpuStallsEvidence>().count);
  return {who(finding),
          finding.cause == Cause::kAllocStall
              ? fmt::format("allocating and freeing GPU memory ({} long calls)", calls)
              : fmt::format("in asynchronous copies that do not return at once ({} of them)", calls),
          {"", fix_text(finding)}};
}

Saying no_cpu(const Finding& finding) {
  return {main_of(finding), "ready to run but without a CPU", supply_advice(finding)};
}

Saying stopped(const Finding& finding) {
  const StoppedEvidence& seen = finding.evidence.of<StoppedEvidence>();
  return {who(finding),
          "stopped from outside",
          {fmt::format("it was stopped {} times, the longest time for {} at {:.1f} s", grouped(seen.count),
                       duration_text(1e6 * seen.longest_ms), 1e-3 * seen.longest_at_ms),
           usual_advice(finding.cause)}};
}

Saying throttled(const Finding& finding) {
  return {main_of(finding), "stopped by the CPU quota of its control group", {"", fix_text(finding)}};
}

Saying late_wakes(const Finding& finding) {
  const LateWakesEvidence& seen = finding.evidence.of<LateWakesEvidence>();
  return {main_of(finding),
          "woken but not running yet",
          {fmt::format("of {} wakes half took {}, and 1 of 100 took {} or more", grouped(seen.wakes),
                       us_text(seen.wake_p50_us), us_text(seen.wake_p99_us)),
           ""}};
}

Saying interpreter_lock(const Finding& finding) {
  const std::string holder = holder_text(finding.evidence);
  return {main_of(finding),
          "waiting for Python's interpreter lock",
          {holder.empty() ? "" : "most of that time " + holder + " had it", fix_text(finding)}};
}

Saying garbage(const Finding& finding) {
  return {who(finding), lost_time_what(finding), {garbage_text(finding.evidence), fix_text(finding)}};
}

// The source that costs most, and what turns it off.
struct DearestSource {
  double ms;
  const char *name, *setting;
};

DearestSource dearest_source(const OwnCostEvidence& seen) {
  const DearestSource sources[] = {{seen.calls_ms, "recorded calls", "HOSTPROBE_MODE=monitor"},
                                   {seen.stacks_ms, "call stacks", "HOSTPROBE_STACK_INTERVAL_MS=1000"},
                                   {seen.switches_ms, "context switches", "HOSTPROBE_SCHED=off"},
                                   {seen.samples_ms, "samples of running code", "HOSTPROBE_SAMPLES=0"},
                                   {seen.own_thread_ms, "hostprobe's own thread", "HOSTPROBE_MODE=monitor"}};
  return *std::max_element(std::begin(sources), std::end(sources),
                           [](const DearestSource& l, const DearestSource& r) { return l.ms < r.ms; });
}

Saying own_cost(const Finding& finding) {
  const DearestSource dearest = dearest_source(finding.evidence.of<OwnCostEvidence>());
  std::string text =
      fmt::format("the probe itself lengthens the steps of {} by {:.1f} %", who(finding), finding.share_pct);
  if (dearest.ms > 0) text += fmt::format(", most of it for {}; {} costs less", dearest.name, dearest.setting);
  return {"", "", {}, text};
}

Saying saying_of(const Finding& finding) {
  switch (finding.symptom) {
    case Symptom::kJobStandsStill:
      return standstill(finding);
    case Symptom::kChildStandsStill:
      return stuck_child(finding);
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
      return {who(finding), lost_time_what(finding), lost_time_advice(finding)};
  }
}

const char* limit_text(GainLimit limit) {
  switch (limit) {
    case GainLimit::kNone:
      return "";
    case GainLimit::kGpu:
      return "Behind it the GPU is the limit.";
    case GainLimit::kTransfers:
      return "Behind it transfers between ranks are the limit.";
    case GainLimit::kHost:
      return "Behind it other work on the host is the limit.";
  }
  return "";
}

std::string gain_text(const Finding& finding) {
  if (!finding.gain_pct) return {};
  if (!finding.gain_low_pct || !finding.gain_high_pct) return fmt::format("{:.0f} %", *finding.gain_pct);
  return fmt::format("{:.0f} % ({:.0f} to {:.0f})", *finding.gain_pct, *finding.gain_low_pct, *finding.gain_high_pct);
}

// Of what comes in few steps, and then for long: a mean of all steps hides that.
std::string seldom_text(const Finding& finding) {
  constexpr std::uint64_t kFewOf = 10;  // at most every tenth step
  const auto* seen = finding.evidence.find<StepsEvidence>();
  if (seen == nullptr || seen->steps_with_it == 0 || !finding.ms_per_step || finding.of_one_step) return {};
  if (seen->steps_with_it * kFewOf > seen->steps) return {};
  const double of_each_ms =
      *finding.ms_per_step * static_cast<double>(seen->steps) / static_cast<double>(seen->steps_with_it);
  return fmt::format("it comes in {} of {} steps, and takes about {} of each of them", grouped(seen->steps_with_it),
                     grouped(seen->steps), duration_text(1e6 * of_each_ms));
}

// A share of steps has its length beside it.
std::string spent_text(const Finding& finding) {
  const std::string share = share_text(finding);
  return finding.ms_per_step ? fmt::format("{} ({})", share, duration_text(1e6 * *finding.ms_per_step)) : share;
}

const char* title_of(const Finding& finding) {
  if (finding.symptom == Symptom::kJobStandsStill) return "Missing rank";
  if (finding.symptom == Symptom::kChildStandsStill) return "Missing thread";
  return cause_title(finding.cause);
}

}  // namespace

FindingText finding_parts(const RunAnswer& run, const Finding& finding) {
  Saying all = saying_of(finding);
  const Advice mask = mask_advice(finding), pool = pool_advice(finding);
  const bool is_of_threads = !mask.because.empty() || !pool.because.empty();
  if (is_of_threads)
    all.advice = mask.because.empty() ? pool : mask;
  else if (reported_cause(finding.cause) == Cause::kCpuContention &&
           finding.evidence.of<NoCpuEvidence>().taken_by.empty())
    if (Advice demand = cpu_demand_advice(run, finding); !demand.because.empty()) all.advice = demand;
  if (reported_cause(finding.cause) == Cause::kDataloaderWait && !is_of_threads)
    if (Advice workers = loader_worker_advice(run, finding); !workers.because.empty()) all.advice = workers;
  if (const std::string place = pool_place_text(run, finding); !place.empty() && !pool.because.empty())
    all.advice.because += fmt::format(". In each step the main thread mostly runs {}", place);
  FindingText text;
  text.title = title_of(finding);
  text.who = who(finding);
  text.thread = thread_of(run, finding);
  text.cost = cost_text(finding);
  text.lead = sentence(all.whole.empty() ? fmt::format("{} spends {} {}", all.subject, spent_text(finding), all.what)
                                         : all.whole);
  text.detail = all.whole.empty() ? sentence(all.what) : text.lead;
  text.because = sentence(all.advice.because);
  if (const std::string seldom = seldom_text(finding); !seldom.empty())
    text.because += (text.because.empty() ? "" : " ") + sentence(seldom);
  // Nobody is advised to change what may lie before the first step.
  if (!finding.with_start_up) text.todo = sentence(all.advice.todo);
  text.gain = gain_text(finding);
  text.limit = limit_text(finding.gain_limit);
  return text;
}

std::string thread_of(const RunAnswer& run, const Finding& finding) {
  const auto* piece = finding.evidence.find<LongestPieceEvidence>();
  if (piece == nullptr || piece->longest_tid == 0) return {};
  for (const ProcessAnswer& process : run.processes) {
    if (finding.rank ? process.rank != finding.rank : finding.pid != 0 && process.pid != finding.pid) continue;
    for (const ThreadAnswer& thread : process.threads)
      if (thread.tid == piece->longest_tid) return process.thread_title({thread.tid, thread.start_ticks}, thread.role);
  }
  return {};
}

std::string finding_text(const RunAnswer& run, const Finding& finding) {
  const FindingText parts = finding_parts(run, finding);
  std::string text = parts.lead;
  const auto add = [&text](const std::string& more) { text += more.empty() ? "" : " " + more; };
  add(parts.because);
  add(parts.todo);
  if (!parts.gain.empty()) add("Expected gain: " + parts.gain + ".");
  add(parts.limit);
  return text;
}

}  // namespace hostprobe::analysis
