// live_steps.h: the steps of this process while it runs: those it marks, else those that torch's optimizers end, else those that its
// launches, collectives and waits show.
//
// Room 2 (probe/). The writer thread, from chunks that are handed over and, four times a second, from those that are being filled: so a
// step is known up to a quarter of a second after its end. In every mode: also what is only counted passes through chunks.
#pragma once

#include "format/segment.h"

namespace hostprobe::probe {

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

// Somebody needs them beside the slow-step trigger, which does in mode flight.
void want_live_steps(bool wanted);

// What slots [.., end) of a chunk hold that was not seen yet. Before the chunk is recycled.
void see_records(const ChunkHead* chunk, std::uint32_t end);
// Four times a second.
void see_open_chunks();

LiveSource live_source();
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
