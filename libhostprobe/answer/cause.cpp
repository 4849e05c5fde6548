// cause.cpp: see cause.h.
#include "cause.h"

namespace hostprobe::analysis {
namespace {

struct Row {
  Cause cause;
  const char* id = "";
  const char* title = "";
  double least_pct = 0;
  Fix fix = Fix::kNone;
};

// A state has but the cause that it is reported as.
constexpr Row kRows[] = {
#define HP_CAUSE(Name, id, title, least_pct, fix, how, advice) {Cause::k##Name, #id, title, least_pct, Fix::k##fix},
#define HP_STATE(Name, Reported) {Cause::k##Reported},
#include "hostprobe/causes.def"
};
static_assert(sizeof kRows / sizeof kRows[0] == kCauses, "Unexplained is the last row of causes.def");

const Row& row_of(Cause cause) { return kRows[static_cast<std::size_t>(cause)]; }
const Row& reported_row(Cause cause) { return row_of(row_of(cause).cause); }

}  // namespace

Cause reported_cause(Cause cause) { return row_of(cause).cause; }

const char* fix_id(Fix fix) {
  static constexpr const char* kIds[] = {
      "",
#define HP_FIX(Name, name, ...) #name,
#define HP_REMEDY(Name, name, ...) #name,
#include "hostprobe/fixes.def"
  };
  return kIds[static_cast<std::size_t>(fix)];
}

const char* cause_id(Cause cause) { return reported_row(cause).id; }

const char* cause_title(Cause cause) { return reported_row(cause).title; }

Fix usual_fix(Cause cause) { return reported_row(cause).fix; }

double least_share_pct(Cause cause) { return reported_row(cause).least_pct; }

}  // namespace hostprobe::analysis
