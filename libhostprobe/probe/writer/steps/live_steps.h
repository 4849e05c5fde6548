// live_steps.h: the steps of this process while it runs: those it marks, else those that torch's optimizers end, else those that its
// launches, collectives and waits show.
//
// Room 2 (probe/). The writer thread, which finds them (step_search.h), and up to a quarter of a second after their end.
#pragma once

#include "format/segment.h"

namespace hostprobe::probe {

// Ticks into nanoseconds of CLOCK_MONOTONIC, by two readings of both.
struct NsOfTicks {
  double ticks = 0, ns = 0, ns_per_tick = 0;

  double operator()(std::uint64_t at_ticks) const { return ns + (static_cast<double>(at_ticks) - ticks) * ns_per_tick; }
};

enum class LiveSource : std::uint8_t {
  kNotYet,
  kMarks,
  kOptimizer,
  kDetected,
  kNone,  // so many calls show no steps; it is looked again as the program goes on
};
const char* live_source_name(LiveSource source);

struct LiveStep {
  std::uint64_t number = 0;  // counted from the first one that was seen
  double begin_ns = 0;       // of CLOCK_MONOTONIC
  double end_ns = 0;
};

// The search's side (step_search.h). A new source begins with nothing; `tid` 0: no thread of its own yet.
void begin_live_steps(LiveSource source, std::uint32_t tid, std::uint64_t start_ticks);
void give_up_live_steps();
void end_live_step(double begin_ns, double end_ns);
void count_step_end();
void lose_step_ends();
// Four times a second.
void refresh_live_clock();
extern NsOfTicks g_live_clock;
extern LiveSource g_live_source;

inline LiveSource live_source() { return g_live_source; }
// Steps that ended so far, and the median of the last kStepsKept; 0: none.
std::uint64_t live_step_count();
double live_step_median_ns();
// Their lengths, as a row for the file: see kBlockSteps.
const SiteCounter& live_step_counter();

// Ends of steps seen so far, whatever shows them; it never falls. `lost`: how often what showed them was lost, so that nothing says
// any more whether steps go on.
struct StepEnds {
  std::uint64_t seen = 0, lost = 0;
};
StepEnds live_step_ends();

// Those that ended since the last call, oldest first; a step next to which records are missing is not among them.
unsigned take_live_steps(LiveStep* steps, unsigned most);

}  // namespace hostprobe::probe
