// verdict.cpp: see verdict.h.
#include "verdict.h"

#include <algorithm>
#include <cstddef>

#include "run.h"

namespace hostprobe::analysis {
namespace {

constexpr double kCriticalPct = 20;  // of the steps, to be gained

const Finding* heaviest(const RunAnswer& run) {
  for (const Finding& finding : run.findings)
    if (is_about_the_job(finding)) return &finding;
  return nullptr;
}

bool has_events(const RunAnswer& run) { return !run.deaths.empty() || !run.long_waits.empty() || !run.stuck.empty(); }

// As long as no other rank has a cause nearly as heavy: then none of them is the late one.
bool is_one_rank(const RunAnswer& run, const Finding& finding) {
  if (run.ranks < 2 || !finding.rank) return false;
  return std::none_of(run.findings.begin(), run.findings.end(), [&finding](const Finding& other) {
    return is_about_the_job(other) && other.rank != finding.rank && 2 * other.share_pct >= finding.share_pct;
  });
}

VerdictWord word_of(const RunAnswer& run, const Finding& finding) {
  if (finding.symptom == Symptom::kJobStandsStill) return VerdictWord::kOneRankLate;
  // Of input and transfers the word says more than the rank, which stands in the finding: of two ranks whose loaders are alike the one
  // that is a little slower each time has nearly all of the price.
  switch (reported_cause(finding.cause)) {
    case Cause::kDataloaderWait:
      return VerdictWord::kInputBound;
    case Cause::kSlowRank:
    case Cause::kSlowGpu:
      return VerdictWord::kOneRankLate;
    case Cause::kCommBandwidth:
    case Cause::kPoorOverlap:
    case Cause::kWaitsForRank:
      return VerdictWord::kCommunicationBound;
    case Cause::kUnexplained:
      return VerdictWord::kCannotTell;
    default:
      return is_one_rank(run, finding) ? VerdictWord::kOneRankLate : VerdictWord::kHostBound;
  }
}

Severity severity_of(const Finding& finding) {
  if (finding.symptom == Symptom::kJobStandsStill || finding.symptom == Symptom::kChildStandsStill)
    return Severity::kCritical;
  return finding.gain_pct.value_or(finding.share_pct) >= kCriticalPct ? Severity::kCritical : Severity::kWarning;
}

NoVerdict reason_without_findings(const RunAnswer& run) {
  if (run.processes.empty()) return run.kernel.files.empty() ? NoVerdict::kNoTrace : NoVerdict::kKernelOnly;
  if (has_events(run)) return NoVerdict::kEvents;
  if (std::any_of(run.processes.begin(), run.processes.end(), is_read_in_part)) return NoVerdict::kReadInPart;
  const bool counted = run.step_time_unknown == TimeUnknown::kNoRecords && run.steps.lengths.count > 0;
  if (!run.step_time || run.step_time->length_ns <= 0) return counted ? NoVerdict::kNone : NoVerdict::kNoSteps;
  const StepTime& time = *run.step_time;
  return time.share_pct(Cause::kUnknown) > time.share_pct(Cause::kGpuBound) ? NoVerdict::kGpuUnknown : NoVerdict::kNone;
}

}  // namespace

Verdict verdict_of(const RunAnswer& run) {
  Verdict verdict;
  verdict.finding = heaviest(run);
  if (verdict.finding != nullptr) {
    verdict.word = word_of(run, *verdict.finding);
    verdict.severity = severity_of(*verdict.finding);
    if (verdict.word == VerdictWord::kCannotTell) verdict.reason = NoVerdict::kUnexplained;
  } else {
    verdict.reason = reason_without_findings(run);
    verdict.word = verdict.reason == NoVerdict::kNone ? VerdictWord::kHostFine : VerdictWord::kCannotTell;
  }
  if (has_events(run)) verdict.severity = Severity::kCritical;
  return verdict;
}

const char* verdict_id(VerdictWord word) {
  static constexpr const char* kIds[] = {"input bound",         "one rank late", "host bound",
                                         "communication bound", "host fine",     "cannot tell"};
  return kIds[static_cast<std::size_t>(word)];
}

const char* severity_id(Severity severity) {
  static constexpr const char* kIds[] = {"none", "warning", "critical"};
  return kIds[static_cast<std::size_t>(severity)];
}

}  // namespace hostprobe::analysis
