// one_step.h: everything again, of one step only: each rank's own step of that number, and what other processes did meanwhile.
//
// Room 3.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "answer/run.h"

namespace hostprobe::analysis {

class Symbols;
class Timeline;
struct DeviceTimeline;
struct ProcessWork;

// A process whose whole answer is there.
struct SteppedProcess {
  const Timeline* timeline = nullptr;
  ProcessAnswer* answer = nullptr;
  ProcessWork* work = nullptr;
  const DeviceTimeline* device = nullptr;  // nullptr: to be read
  bool lived_then = true;                  // during the step, as far as that is known of its host
};

// The step that is longest beside others of its type; nothing: there are no steps.
std::optional<std::uint64_t> slowest_step(const std::vector<SteppedProcess>& processes);

// Puts the answers about the step in the place of those about the whole. Nothing: no process made that one.
std::optional<OneStep> limit_to_step(std::vector<SteppedProcess>& processes, std::uint64_t number, Symbols& symbols,
                                     unsigned cores);

// "0 to 148": the steps that have a place in time.
std::string known_steps_text(const std::vector<SteppedProcess>& processes);

}  // namespace hostprobe::analysis
