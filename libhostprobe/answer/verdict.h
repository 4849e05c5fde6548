// verdict.h: the one word that stands for a whole run: what limits it, and how much that matters.
//
// The waist (answer/). Made of the findings and of what is known of the steps; the same in every form of a report.
#pragma once

#include <cstdint>

#include "finding.h"

namespace hostprobe::analysis {

struct RunAnswer;

enum class VerdictWord : std::uint8_t {
  kInputBound,
  kOneRankLate,
  kHostBound,
  kCommunicationBound,
  kHostFine,
  kCannotTell,
};

enum class Severity : std::uint8_t { kNone, kWarning, kCritical };

// Why nothing can be said of a run, or nothing of the kind that was hoped for.
enum class NoVerdict : std::uint8_t {
  kNone,
  kNoTrace,      // no trace of it can be read
  kKernelOnly,   // it holds the kernel's records alone
  kReadInPart,   // an imported file was read in part, and nothing stands out in that part
  kUnexplained,  // time is lost, and nothing shows to what
  kGpuUnknown,   // for most of the steps it is not known whether the GPU worked
  kNoSteps,      // the time of its steps is not known, and nothing stands out in its totals
  kEvents,       // the job died or stands still, and nothing else stands out
};

struct Verdict {
  VerdictWord word = VerdictWord::kCannotTell;
  Severity severity = Severity::kNone;
  NoVerdict reason = NoVerdict::kNone;
  const Finding* finding = nullptr;  // of the run's, that the word stands for
};

Verdict verdict_of(const RunAnswer& run);

const char* verdict_id(VerdictWord word);  // "input bound", as documents have it
const char* severity_id(Severity severity);

// hostprobe's own cost is a finding, and nothing to change in the job.
inline bool is_about_the_job(const Finding& finding) { return finding.cause != Cause::kOwnCost; }

}  // namespace hostprobe::analysis
