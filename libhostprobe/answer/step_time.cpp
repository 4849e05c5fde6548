// step_time.cpp: see step_time.h.
#include "step_time.h"

namespace hostprobe::analysis {

double StepTime::share_pct(Cause reported) const {
  double ns = 0;
  for (const LostTime& one : lost)
    if (reported_cause(one.cause) == reported) ns += one.ns;
  return length_ns > 0 ? 100 * ns / length_ns : 0;
}

const char* time_unknown_id(TimeUnknown why) {
  switch (why) {
    case TimeUnknown::kKnown:
      return "";
    case TimeUnknown::kNoWorker:
      return "no_worker";
    case TimeUnknown::kClocks:
      return "clocks";
    case TimeUnknown::kNoSteps:
      return "no_steps";
    case TimeUnknown::kNoRecords:
      return "no_records";
    case TimeUnknown::kLostRecords:
      return "lost_records";
    case TimeUnknown::kLostActivities:
      return "lost_activities";
    case TimeUnknown::kTooMany:
      return "too_many";
    case TimeUnknown::kChanged:
      return "changed";
  }
  return "";
}

}  // namespace hostprobe::analysis
