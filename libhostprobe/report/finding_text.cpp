// finding_text.cpp: see finding_text.h.
#include "finding_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "answer/process.h"
#include "answer/run.h"
#include "lost_time_text.h"
#include "news.h"
#include "words.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostSentences = 3;

// "rank 3", or the process id, or "the program" where there is only one it could be.
std::string who(const Finding& finding) {
  if (finding.rank) return fmt::format("rank {}", *finding.rank);
  return finding.only_process ? "the program" : fmt::format("process {}", finding.pid);
}

std::string main_of(const Finding& finding) {
  return who(finding) == "the program" ? "the main thread" : who(finding) + "'s main thread";
}

std::string us_text(const Evidence& evidence, const char* name) { return duration_text(1e3 * evidence.number(name)); }

// "c10d::Reducer::finalize_backward() (libtorch_cpu.so)" without parameters and library.
std::string function_of(const std::string& place) {
  const auto end = place.find('(');
  return printable(end == std::string::npos || end == 0 ? place
                                                        : place.substr(0, place.find_last_not_of(' ', end - 1) + 1));
}

std::string place_of(const Finding& finding) {
  const std::string python = finding.evidence.text("python"), code = finding.evidence.text("code");
  if (!python.empty()) return printable(python);
  if (!code.empty()) return shortened(function_of(code), 80);
  return fmt::format("{} of {}", printable(finding.site->function), printable(finding.site->library));
}

std::string queue_advice(const Evidence& evidence, bool is_loader) {
  const std::string runs = printable(evidence.text("other_side_runs"));
  if (runs.empty()) return "what is on the other side of this queue is the limit";
  if (is_loader) {
    return fmt::format("{} is on the other side and takes from the DataLoader, so the data loader is the limit: {}",
                       runs, loader_advice(evidence));
  }
  return fmt::format("{} (thread {}) is on the other side and is the limit", runs, evidence.count("other_side_tid"));
}

std::string wait_advice(const Finding& finding) {
  const std::string purpose = finding.evidence.text("purpose"), waker = finding.evidence.text("woken_by");
  if (purpose == "data_loader") return "the data loader is the limit: " + loader_advice(finding.evidence);
  if (purpose == "queue") return queue_advice(finding.evidence, finding.cause == "dataloader_wait");
  if (purpose == "peers") return "it waits for other ranks";
  if (purpose == "gpu") return "it waits inside the GPU driver";
  if (purpose == "gil") return "other Python threads hold the interpreter lock";
  return waker.empty() ? "look at what it waits for there"
                       : fmt::format("it is woken by {}, so look at what that thread does meanwhile", waker);
}

std::string long_wait(const Finding& finding) {
  if (finding.evidence.text("purpose") == "sleep") {
    const bool known = !finding.evidence.text("python").empty() || !finding.evidence.text("code").empty();
    return fmt::format("{} sleeps {:.0f} % of the run{}.", main_of(finding), finding.share_pct,
                       known ? " in " + place_of(finding) : "");
  }
  return fmt::format("{} waits {:.0f} % of the run in {}: {}.", main_of(finding), finding.share_pct, place_of(finding),
                     wait_advice(finding));
}

std::string standstill(const Finding& finding) {
  const Evidence& evidence = finding.evidence;
  const std::uint64_t missing = evidence.count("missing");
  const std::string others = missing == 1 ? "" : fmt::format(" and {} more", missing - 1);
  return fmt::format(
      "the job stands still: rank {}{} has not entered {} #{} of communicator {}, in which {} of {} ranks wait since "
      "{}; "
      "look at what it does.",
      finding.rank.value_or(0), others, evidence.text("op"), evidence.count("sequence"),
      evidence.text("comm").substr(0, 8), evidence.count("arrived"), evidence.count("ranks"),
      duration_text(1e6 * evidence.number("since_ms")));
}

std::string gpu_waits(const Finding& finding) {
  return fmt::format(
      "{} waits {:.0f} % of the run for the GPU ({} synchronisations, {:.0f} launches between two): "
      "the GPU is the limit, or it is waited for too often.",
      who(finding), finding.share_pct, grouped(finding.evidence.count("count")),
      finding.evidence.number("launches_between"));
}

std::string gpu_stalls(const Finding& finding) {
  const std::string calls = grouped(finding.evidence.count("count"));
  if (finding.cause == "alloc_stall")
    return fmt::format("{} spends {:.1f} % of the run allocating and freeing GPU memory ({} long calls): {}.",
                       who(finding), finding.share_pct, calls, fix_text(finding));
  return fmt::format(
      "{} spends {:.1f} % of the run in asynchronous copies that did not return at once ({} of them): {}.",
      who(finding), finding.share_pct, calls, fix_text(finding));
}

std::string no_cpu(const Finding& finding) {
  const Evidence& evidence = finding.evidence;
  const std::uint64_t cpus = evidence.count("cpus");
  std::string text =
      fmt::format("{} was ready to run but had no CPU for {:.0f} % of the run", main_of(finding), finding.share_pct);
  if (cpus == 0) return text + ".";
  const char* noun = cpus == 1 ? "CPU" : "CPUs";
  if (finding.fix == "more_cpus")
    return fmt::format("{}: the job keeps {:.1f} of its {} {} busy and has work for {:.1f}; {}.", text,
                       evidence.number("cpus_used"), cpus, noun, evidence.number("cpus_wanted"), fix_text(finding));
  // Where it fills nearly all of them, nothing shows who took the rest.
  if (evidence.number("cpus_used") > 0.8 * static_cast<double>(cpus)) return text + ".";
  return fmt::format(
      "{}: the job itself uses only {:.1f} of its {} {}, so something else took them: other programs, "
      "or a limit on its CPU time.",
      text, evidence.number("cpus_used"), cpus, noun);
}

std::string stopped(const Finding& finding) {
  const Evidence& evidence = finding.evidence;
  return fmt::format("{} was stopped from outside for {:.1f} % of the run ({} times, the longest {} at {:.1f} s): {}.",
                     who(finding), finding.share_pct, grouped(evidence.count("count")),
                     duration_text(1e6 * evidence.number("longest_ms")), 1e-3 * evidence.number("longest_at_ms"),
                     stop_advice());
}

std::string throttled(const Finding& finding) {
  return fmt::format("{} was ready to run but held back by the CPU quota of its group for {:.1f} % of the run: {}.",
                     main_of(finding), finding.share_pct, fix_text(finding));
}

std::string launch_pace(const Finding& finding) {
  const Evidence& evidence = finding.evidence;
  return fmt::format(
      "{} makes {} launches, {} each plus {} until the next (medians), and waits for the "
      "GPU only {:.1f} % of the run: the host sets the pace: {}.",
      who(finding), grouped(evidence.count("launches")), us_text(evidence, "call_p50_us"),
      us_text(evidence, "gap_p50_us"), evidence.number("sync_pct"), fix_text(finding));
}

std::string late_wakes(const Finding& finding) {
  const Evidence& evidence = finding.evidence;
  return fmt::format("{} runs again late after it was woken ({} wakes, p50 {}, p99 {}): {:.1f} % of the run.",
                     main_of(finding), grouped(evidence.count("wakes")), us_text(evidence, "wake_p50_us"),
                     us_text(evidence, "wake_p99_us"), finding.share_pct);
}

std::string late_rank(const Finding& finding) {
  const Evidence& evidence = finding.evidence;
  return fmt::format(
      "rank {} waits {:.0f} % of the run for other ranks, {} only {:.0f} %: the others wait for {}, look there first.",
      evidence.count("waits_most_rank"), evidence.number("waits_most_pct"), who(finding), evidence.number("waits_pct"),
      who(finding));
}

std::string interpreter_lock(const Finding& finding) {
  std::string holder = holder_text(finding.evidence);
  if (!holder.empty()) holder = fmt::format(", most of it while {} had it", holder);
  return fmt::format("{} waits {:.1f} % of the run for Python's interpreter lock{}: {}.", main_of(finding),
                     finding.share_pct, holder, fix_text(finding));
}

std::string garbage(const Finding& finding) {
  const Evidence& evidence = finding.evidence;
  return fmt::format(
      "Python in {} stops for {:.1f} % of the run to collect garbage ({} times, {} of them generation {}, the longest "
      "{}): {}.",
      who(finding), finding.share_pct, grouped(evidence.count("count")), grouped(evidence.count("oldest_count")),
      evidence.count("oldest_generation"), duration_text(1e6 * evidence.number("max_ms")), fix_text(finding));
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
    case Symptom::kGpuWaits:
      return gpu_waits(finding);
    case Symptom::kGpuStalls:
      return gpu_stalls(finding);
    case Symptom::kLaunchPace:
      return launch_pace(finding);
    case Symptom::kLateWakes:
      return late_wakes(finding);
    case Symptom::kNotRunning:
      return no_cpu(finding);
    case Symptom::kStopped:
      return stopped(finding);
    case Symptom::kThrottled:
      return throttled(finding);
    case Symptom::kLostTime:
      return lost_time_text(finding, finding.rank || finding.pid != 0 ? who(finding) : "the job");
    case Symptom::kOwnCost:
      return fmt::format("the probe itself costs {} {:.1f} % of its wall time, so every other number here is too high.",
                         who(finding), finding.share_pct);
  }
  return {};
}

double bound_pct(const StepTime& time) {
  double ns = 0;
  for (const LostTime& lost : time.lost)
    if (lost.cause == Cause::kGpuBound || lost.cause == Cause::kTransfer) ns += lost.ns;
  return 100 * ns / time.length_ns;
}

std::string all_well(const RunAnswer& run) {
  for (const ProcessAnswer& process : run.processes)
    if (is_read_in_part(process))
      return "What was read of this run shows nothing that stands out; what is missing may: see LOST OR DAMAGED.";
  if (run.step_time && run.step_time->length_ns > 0)
    return fmt::format("Nothing on the host side stands out: the {} works in {:.1f} % of the {}.",
                       run.uses_gpu() ? "GPU" : "program itself", bound_pct(*run.step_time),
                       run.one_step                  ? "step"
                       : run.steps.lengths.count > 0 ? "steps"
                                                     : "run");
  const WorstWaits& worst = run.worst_waits;
  std::string text =
      fmt::format("Nothing on the host side stands out: no wait of a main thread takes more than {:.1f} % of the run",
                  worst.wait_pct);
  if (worst.wake_p99_ns > 0)
    text += fmt::format(", and 99 of 100 wakes take less than {}", duration_text(worst.wake_p99_ns));
  return text + ".";
}

}  // namespace

// "more" only where what is there has no time left.
std::string loader_advice(const Evidence& evidence) {
  const std::uint64_t count = evidence.count("workers");
  const double cpu_pct = evidence.number("workers_cpu_pct"), no_cpu_pct = evidence.number("workers_no_cpu_pct");
  const std::string in = printable(evidence.text("workers_wait_in"));
  const std::string workers = count == 1 ? "its worker" : fmt::format("its {} workers", count);
  if (count == 0) return "no worker of it was seen, so look at how samples are made";
  if (no_cpu_pct > cpu_pct)
    return fmt::format("{} {} ready but without a CPU for {:.0f} % of the time", workers, count == 1 ? "is" : "are",
                       no_cpu_pct);
  if (cpu_pct + no_cpu_pct >= 60)
    return fmt::format("{} {} busy for {:.0f} % of the time: more workers (num_workers) or cheaper samples", workers,
                       count == 1 ? "is" : "are", cpu_pct + no_cpu_pct);
  return fmt::format(
      "{} {} only {:.0f} % of the time{}: make samples quicker there; more workers help as far as they do not wait for "
      "each other",
      workers, count == 1 ? "runs" : "run", cpu_pct,
      in.empty() ? "" : fmt::format(" and {} most in {}", count == 1 ? "waits" : "wait", in));
}

std::string holder_text(const Evidence& evidence) {
  const std::string role = evidence.text("held_by"), name = evidence.text("held_by_name");
  if (role.empty()) return {};
  return fmt::format("thread {} ({})", evidence.count("held_by_tid"), printable(name.empty() ? role : name));
}

std::string stop_advice() {
  return "find who stops it: a debugger or a profiler that pauses it (TracerPid in /proc/PID/status meanwhile), a "
         "SIGSTOP "
         "by a scheduler or a shell, or a frozen control group";
}

// As much as it had work for; a quota above that holds nobody back.
static std::string quota_text(const Finding& finding) {
  const Evidence& evidence = finding.evidence;
  std::string text = "raise the CPU quota";
  if (const std::string group = printable(evidence.text("group")); !group.empty()) text += " of " + group;
  const double now = evidence.number("quota_cpus"), wanted = evidence.number("cpus_wanted");
  if (now <= 0) return text;
  text += fmt::format(" ({:g} CPUs", now);
  return wanted > now ? fmt::format("{}, and there is work for {:.1f})", text, wanted) : text + ")";
}

std::string fix_text(const Finding& finding) {
  if (finding.fix == "raise_quota") return quota_text(finding);
  if (finding.fix == "num_workers") return "more workers (num_workers) or cheaper samples";
  if (finding.fix == "keep_memory") return "keep memory (a caching allocator), they wait for the device";
  if (finding.fix == "pin_memory") return "pin the memory (pin_memory), copies of pageable memory wait";
  if (finding.fix == "processes") return "move the work of its other Python threads into processes";
  if (finding.fix == "gc") return "collect less often (hostprobe run --fix gc), or gc.freeze() once the model is built";
  if (finding.fix == "batch_launch")
    return "launch less (fusion, graphs); whether a thread that launches for it helps, hostprobe run --fix "
           "auto:batch_launch tells";
  if (finding.fix == "pin") return "give that thread a CPU of its own (hostprobe run --fix pin)";
  if (finding.fix == "spin") return "poll before it sleeps there (hostprobe run --fix spin), or hand over more at once";
  if (finding.fix == "more_cpus") return "give the job more CPUs or start fewer threads";
  return {};
}

// What is to be done about it stands behind the share.
static std::string without_advice(std::string text, const std::string& run) {
  const auto share = text.find(run);
  if (share == std::string::npos) return text;
  if (const auto advice = text.find(": ", share); advice != std::string::npos) text = text.substr(0, advice) + ".";
  return text.insert(share + run.size(), " (start-up included)");
}

std::string finding_text(const Finding& finding) {
  std::string text = plain_text(finding);
  const std::string run = " of the run";
  if (finding.with_start_up) text = without_advice(std::move(text), run);
  const std::string of = finding.of_part       ? " of what was read"
                         : finding.of_one_step ? " of the step"
                         : finding.of_steps    ? " of the steps"
                                               : run;
  for (auto at = text.find(run); at != std::string::npos; at = text.find(run, at + of.size()))
    text.replace(at, run.size(), of);
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

std::vector<std::string> headline(const RunAnswer& run, const std::vector<Finding>& findings) {
  if (run.processes.empty() && !run.kernel.files.empty())
    return {
        "This run holds what the kernel recorded, and no process of a job: record one into the same folder with "
        "`hostprobe run -o`."};
  if (run.processes.empty()) return {"No trace of this run can be read, so nothing can be said about it."};
  std::vector<std::string> sentences = news(run);
  if (sentences.size() > kMostSentences) sentences.resize(kMostSentences);
  if (findings.empty() && sentences.empty()) return {all_well(run)};
  for (std::size_t i = 0; i < findings.size() && sentences.size() < kMostSentences; ++i)
    sentences.push_back(finding_text(findings[i]));
  return sentences;
}

}  // namespace hostprobe::analysis
