// finding.h: one thing that costs the job time on the host side, as data: what, where, how much, by what evidence.
//
// The waist (answer/). analysis/findings/run_findings.h finds them, report/finding_text.h has them in words. No sentences here:
// scripts ask for ids and numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cause.h"
#include "gain.h"
#include "hook.h"
#include "role.h"

namespace hostprobe::analysis {

// What was seen, by the rows of causes.def. Several symptoms can have one cause, and each has words of its own.
enum class Symptom : std::uint8_t {
#define HP_RUN_SYMPTOM(Name, ...) k##Name,
#define HP_SYMPTOM(Name, ...) k##Name,
#include "hostprobe/causes.def"
  kLostTime,  // of the steps; the cause says how
};

// What a share is of.
enum class Whole : std::uint8_t {
  kRun,       // the process's life
  kSteps,     // of all of them
  kOneStep,   // the answer is of that one alone
  kReadPart,  // what was read of an imported file
};

// For what a thread waits at a place.
enum class WaitedFor : std::uint8_t { kUnknown, kDataLoader, kQueue, kPeers, kGpu, kGil, kSleep };

const char* waited_for_id(WaitedFor what);  // "" for kUnknown

// What a finding was drawn from: StepsEvidence{steps, pieces, …}, LongWaitEvidence{count, total_ms, …} and the other rows of
// causes.def, with a member for each name in documents.
#define HP_EVIDENCE(Name) struct Name##Evidence {
// clang-format off
#define HP_EVIDENCE_END };
// clang-format on
#define HP_COUNT(name) std::uint64_t name = 0;
#define HP_REAL(name) double name = 0;
#define HP_TEXT(name) std::string name = {};
#define HP_MAYBE_COUNT(name) std::optional<std::uint64_t> name = {};
#define HP_MAYBE_REAL(name) std::optional<double> name = {};
#define HP_MAYBE_TEXT(name) std::string name = {};
#define HP_PURPOSE(name) WaitedFor name = WaitedFor::kUnknown;
#include "hostprobe/causes.def"

// Of several kinds, in the order in which they matter. Of two of one kind the first counts.
class Evidence {
 public:
  using Part = std::variant<std::monostate
#define HP_EVIDENCE(Name) , Name##Evidence
#include "hostprobe/causes.def"
                            >;

  void add(Part part) { parts_.push_back(std::move(part)); }
  void add(const Evidence& other) { parts_.insert(parts_.end(), other.parts_.begin(), other.parts_.end()); }

  template <typename Kind>
  const Kind* find() const {
    for (const Part& part : parts_)
      if (const Kind* kind = std::get_if<Kind>(&part)) return kind;
    return nullptr;
  }
  // Where there is none of that kind, one in which nothing is known.
  template <typename Kind>
  const Kind& of() const {
    static const Kind kNothing;
    const Kind* kind = find<Kind>();
    return kind == nullptr ? kNothing : *kind;
  }
  const std::vector<Part>& parts() const { return parts_; }

 private:
  std::vector<Part> parts_;
};

struct FindingSite {
  std::string function;
  std::string library;
  Role role = Role::kMain;
  std::vector<std::string> stack;
  CallKind kind = CallKind::kOther;
};

struct Finding {
  Cause cause = Cause::kUnexplained;
  Symptom symptom = Symptom::kLongWait;
  std::optional<int> rank;     // where the cause sits; nothing: the whole job, or a process that is no rank
  std::uint32_t pid = 0;       // of that process; 0 = none
  bool only_process = false;   // the run has no other
  double share_pct = 0;        // of wall time
  bool of_steps = false;       // of the time of the steps instead
  bool of_one_step = false;    // of that one alone
  bool of_part = false;        // of what was read of an imported file
  bool with_start_up = false;  // most of it may have been before the first step, so nothing is advised
  bool without_gpu = false;    // the process computes without one
  std::optional<double> ms_per_step = {};
  // By how much steps would be shorter without it; nothing: not known.
  std::optional<double> gain_pct = {}, gain_low_pct = {}, gain_high_pct = {};
  GainLimit gain_limit = GainLimit::kNone;
  Fix fix = Fix::kNone;
  std::optional<FindingSite> site = {};
  Evidence evidence = {};

  Whole whole() const {
    return of_part ? Whole::kReadPart : of_one_step ? Whole::kOneStep : of_steps ? Whole::kSteps : Whole::kRun;
  }
  // Of what time share_pct is: an id, for scripts.
  const char* share_of() const { return of_part ? "read_part" : of_steps ? "steps" : "run"; }
};

}  // namespace hostprobe::analysis
