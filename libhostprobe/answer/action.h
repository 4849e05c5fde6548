// action.h: what hostprobe itself did in a process and why.
//
// The waist (answer/). analysis/measures/actions.h fills it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hostprobe::analysis {

// The trace's own numbers; another one is of a later hostprobe.
enum class ActionKind : std::uint32_t {
  kTrigger = 1,
  kDumpGone,
  kStarted,
  kStopped,
  kSetting,
  kDetail,
  kChildEnded,
  kFix,
  kHalted,
  kThrottled,
  kSource,
  kReadInPart,
  kLeftOut,
  kStepsKnown,
  kProfile,
  kGuessed,
};

enum class TriggerCause : std::uint32_t { kSlowStep = 1, kSignal, kCommand, kProgram, kHang };

// What the fix `auto` tried, what that showed, and what it decided.
struct TrialAnswer {
  std::string fix;
  std::string verdict;                                       // kept, useless, harmful, undecided
  unsigned windows_without = 0, windows_with = 0;            // of steps
  double step_without_ms = 0, step_with_ms = 0;              // medians of the windows
  double gain_pct = 0, gain_low_pct = 0, gain_high_pct = 0;  // of the step
  bool has_interval = false;  // else there were too few windows, and the last two mean nothing
};

struct ActionAnswer {
  ActionKind kind{};
  std::uint32_t reason = 0;  // of a trigger its TriggerCause, of a missing source an errno
  double at_s = 0;           // since the process began
  std::uint64_t number = 0;
  std::uint64_t amount = 0;
  std::string text = {};
  std::optional<TrialAnswer> trial = {};  // of a fix that was tried
};

// It came too soon after a dump.
inline bool is_refused_trigger(const ActionAnswer& action) {
  return action.kind == ActionKind::kTrigger && action.number == 0;
}

// A window of PyTorch's own profiler that is in the run folder, as against one that could not be.
inline bool is_whole_window(const ActionAnswer& action) {
  return action.kind == ActionKind::kProfile && action.reason == 0;
}

// A person waits to see it.
inline bool is_asked_trigger(const ActionAnswer& action) {
  return action.kind == ActionKind::kTrigger && TriggerCause{action.reason} == TriggerCause::kCommand;
}

// Ids, for scripts; of what a later hostprobe wrote, its number.
std::string action_kind_name(ActionKind kind);
std::string trigger_reason_name(std::uint32_t reason);

}  // namespace hostprobe::analysis
