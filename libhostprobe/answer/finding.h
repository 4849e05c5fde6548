// finding.h: one thing that costs the job time on the host side, as data: what, where, how much, by what evidence.
//
// Room 3. Found by causes.h, told in words by report/finding_text.h. No sentences here: scripts ask for ids and numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "role.h"

namespace hostprobe::analysis {

// What was seen. Several symptoms can have one cause, and each is told in its own words.
enum class Symptom {
  kJobStandsStill,  // ranks wait in a collective that another one does not enter
  kRankIsLate,      // the others wait for this one
  kLongWait,        // the main thread's heaviest wait
  kInterpreterLock,
  kGarbage,  // Python collects it
  kGpuWaits,
  kGpuStalls,  // in calls that are not there to wait for it
  kLaunchPace,
  kLateWakes,
  kNotRunning,
  kStopped,    // somebody had stopped the process
  kThrottled,  // a quota of CPU time was used up
  kOwnCost,
  kLostTime,  // of the steps; the cause says how
};

// Named numbers and texts, in the order in which they matter.
class Evidence {
 public:
  using Value = std::variant<double, std::uint64_t, std::string>;

  void add(std::string name, Value value) { values_.emplace_back(std::move(name), std::move(value)); }
  // Unless there is one of that name.
  void add_new(const std::string& name, const Value& value) {
    if (find(name) == nullptr) add(name, value);
  }
  // 0 and "" where there is none of that name.
  double number(const std::string& name) const;
  std::uint64_t count(const std::string& name) const;
  std::string text(const std::string& name) const;
  const std::vector<std::pair<std::string, Value>>& values() const { return values_; }

 private:
  const Value* find(const std::string& name) const;

  std::vector<std::pair<std::string, Value>> values_;
};

struct FindingSite {
  std::string function;
  std::string library;
  Role role = Role::kMain;
  std::vector<std::string> stack;
};

struct Finding {
  std::string cause;  // an id
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
  std::string fix;  // an id; "" = nothing is known to help
  std::optional<FindingSite> site = {};
  Evidence evidence = {};
};

}  // namespace hostprobe::analysis
