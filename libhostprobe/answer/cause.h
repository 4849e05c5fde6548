// cause.h: why nothing was done for the job at some moment of a step, and what a finding names, by the rows of causes.def; what
// helps against it, by those of fixes.def.
//
// The waist (answer/).
#pragma once

#include <cstddef>
#include <cstdint>

namespace hostprobe::analysis {

// What helps against a cause.
enum class Fix : std::uint8_t {
  kNone,  // nothing is known to help
#define HP_FIX(Name, ...) k##Name,
#define HP_REMEDY(Name, ...) k##Name,
#include "hostprobe/fixes.def"
};

const char* fix_id(Fix fix);  // "" for kNone

enum class Cause : std::uint8_t {
#define HP_CAUSE(Name, ...) k##Name,
#define HP_STATE(Name, ...) k##Name,
#include "hostprobe/causes.def"
};
inline constexpr std::size_t kCauses = static_cast<std::size_t>(Cause::kUnexplained) + 1;

// As which it is reported: itself, or the cause whose id it shares.
Cause reported_cause(Cause cause);
const char* cause_id(Cause cause);     // of that one
const char* cause_title(Cause cause);  // the same, for people: "Data loading"
Fix usual_fix(Cause cause);            // where the evidence does not say otherwise
// Of the steps, from which on it is a finding; 0: never.
double least_share_pct(Cause cause);

}  // namespace hostprobe::analysis
