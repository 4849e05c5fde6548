// trial.h: whether a fix makes steps shorter: windows of steps with and without it, in random order, and what they show.
//
// Room 2 (probe/). Pure: step times in, a verdict out; no clock, no process. Two windows, one with the fix and one without, are a pair;
// which comes first is drawn anew for each. So what changes slowly, or belongs to the program, falls on either side by chance alone:
// where the fix changes nothing, the difference of a pair is as likely positive as negative, whatever the noise is like, and the
// signed-rank interval holds (docs/decisions/0022-auto.md).
#pragma once

#include <cstdint>

namespace hostprobe::probe {

// Steps of one window: the first ones, in which the fix takes hold, do not count.
struct StepWindow {
  static constexpr std::uint32_t kWarmUp = 2;
  static constexpr std::uint32_t kSteps = 16;        // at least, and
  static constexpr double kLeastNs = 400'000'000.0;  // so long at least

  double since_ns;  // steps that began earlier are not its own
  std::uint32_t skipped, steps;
  double total_ns;

  void begin(double at_ns) { *this = {at_ns, 0, 0, 0}; }
  void add(double begin_ns, double end_ns) {
    if (begin_ns < since_ns) return;
    if (skipped < kWarmUp) {
      ++skipped;
      return;
    }
    ++steps;
    total_ns += end_ns - begin_ns;
  }
  bool is_full() const { return steps >= kSteps && total_ns >= kLeastNs; }
  // What a step takes: a pause in one step of ten counts as a tenth.
  double mean_ns() const { return steps == 0 ? 0 : total_ns / steps; }
};

enum class Verdict : std::uint8_t {
  kOpen,     // more windows are needed
  kKeep,     // steps are shorter: with 95 % confidence, and by half a percent at least
  kNoGain,   // that is not shown
  kHarmful,  // steps are longer, with 95 % confidence
  kTooFew,   // steps came to an end before anything was shown
};
const char* verdict_name(Verdict verdict);

// Share of the step time that the fix saves, percent.
struct Gain {
  double low, middle, high;
};

class Trial {
 public:
  static constexpr unsigned kMostPairs = 24;
  static constexpr double kLeastGain = 0.5;

  // Drawn from `seed`: which of each pair comes first.
  void begin(std::uint64_t seed);
  // Whether the window that comes next has the fix.
  bool next_is_on() const;
  // Step time of that window.
  void add(double ns);
  // Looks are at 8, 16 and 24 pairs, each with a third of the 5 % of error.
  Verdict verdict() const;
  unsigned pairs() const { return windows_ / 2; }
  unsigned windows() const { return windows_; }
  double median_ns(bool on) const;
  // Of all whole pairs so far. False: so few have no interval.
  bool gain(Gain& gain) const;
  // A window this long is longer than nearly all without the fix were.
  double usual_most_ns() const;

 private:
  std::uint64_t order_;
  unsigned windows_;
  double ns_[2][kMostPairs];  // without, with
};

// After a fix was kept: so many windows in succession that are longer than nearly all without it were.
struct HarmWatch {
  static constexpr unsigned kWindows = 8;
  double limit_ns;
  unsigned over;

  // True: it is harmful by now.
  bool add(double ns) {
    over = ns > limit_ns ? over + 1 : 0;
    return over >= kWindows;
  }
};

}  // namespace hostprobe::probe
