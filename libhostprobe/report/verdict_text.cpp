// verdict_text.cpp: see verdict_text.h.
#include "verdict_text.h"

#include <fmt/format.h>

#include "finding_text.h"
#include "news.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostSentences = 3;
constexpr double kLeastUnknownPct = 1;  // of the steps, to be named where all is well

const char* whole_of(const RunAnswer& run) {
  return run.one_step ? "step" : run.steps.lengths.count > 0 ? "steps" : "run";
}

// In totals.
std::string no_wait_stands_out(const RunAnswer& run) {
  std::string text =
      fmt::format("no wait of a main thread takes more than {:.1f} % of the run", run.worst_waits.wait_pct);
  if (run.worst_waits.wake_p99_ns > 0)
    text += fmt::format(", and 99 of 100 wakes take less than {}", duration_text(run.worst_waits.wake_p99_ns));
  return text;
}

std::string all_well(const RunAnswer& run) {
  if (!run.step_time || run.step_time->length_ns <= 0)
    return fmt::format("Nothing on the host side stands out: {}.", no_wait_stands_out(run));
  const double works_pct = run.step_time->share_pct(Cause::kGpuBound),
               unknown_pct = run.step_time->share_pct(Cause::kUnknown);
  std::string text = fmt::format("Nothing on the host side stands out: the {} works in {:.1f} % of the {}",
                                 run.uses_gpu() ? "GPU" : "program itself", works_pct, whole_of(run));
  if (unknown_pct >= kLeastUnknownPct)
    text += fmt::format(", and for {:.1f} % it is not known whether it does", unknown_pct);
  return text + ".";
}

std::string without_finding(const RunAnswer& run, NoVerdict reason) {
  switch (reason) {
    case NoVerdict::kNoTrace:
      return "No trace of this run can be read, so nothing can be said about it.";
    case NoVerdict::kKernelOnly:
      return "This run holds what the kernel recorded, and no process of a job: record one into the same folder with "
             "`hostprobe run -o`.";
    case NoVerdict::kReadInPart:
      return "What was read of this run shows nothing that stands out; what is missing may: see `hostprobe report RUN "
             "losses`.";
    case NoVerdict::kGpuUnknown:
      return fmt::format(
          "Nothing on the host side stands out, but for {:.1f} % of the {} it is not known whether the GPU works.",
          run.step_time->share_pct(Cause::kUnknown), whole_of(run));
    case NoVerdict::kNoSteps:
      return fmt::format("The time of the steps is not known ({}). In the totals nothing stands out: {}.",
                         unknown_steps_text(run), no_wait_stands_out(run));
    default:
      return all_well(run);
  }
}

}  // namespace

const char* unknown_steps_text(const RunAnswer& run) {
  switch (run.step_time_unknown) {
    case TimeUnknown::kKnown:
      return "";
    case TimeUnknown::kNoWorker:
      return "no process is known to make the steps";
    case TimeUnknown::kNoSteps:
      return "no steps were found, marked or repeating; docs/reference/steps.md";
    case TimeUnknown::kClocks:
      return "the clocks of the ranks' hosts cannot be aligned";
    case TimeUnknown::kNoRecords:
      return "this mode keeps only counters; `flight` and `trace` keep records";
    case TimeUnknown::kLostRecords:
      return "records of a thread that makes the steps are missing";
    case TimeUnknown::kLostActivities:
      return "not all that ran on the GPU was recorded";
    case TimeUnknown::kTooMany:
      return "too many calls to look at without steps; mark them, docs/reference/steps.md";
    case TimeUnknown::kChanged:
      return "a file changed while it was read";
  }
  return "";
}

std::string verdict_why(const RunAnswer& run, const Verdict& verdict) {
  if (const std::vector<std::string> happened = news(run); !happened.empty()) return happened.front();
  return verdict.finding != nullptr ? finding_parts(run, *verdict.finding).lead : without_finding(run, verdict.reason);
}

Json verdict_json(const RunAnswer& run) {
  const Verdict verdict = verdict_of(run);
  return {{"word", verdict_id(verdict.word)},
          {"severity", severity_id(verdict.severity)},
          {"why", verdict_why(run, verdict)}};
}

std::vector<std::string> headline(const RunAnswer& run) {
  std::vector<std::string> sentences = news(run);
  if (sentences.size() > kMostSentences) sentences.resize(kMostSentences);
  for (const Finding& finding : run.findings)
    if (sentences.size() < kMostSentences && is_about_the_job(finding)) sentences.push_back(finding_text(run, finding));
  return sentences.empty() ? std::vector{verdict_why(run, verdict_of(run))} : sentences;
}

}  // namespace hostprobe::analysis
