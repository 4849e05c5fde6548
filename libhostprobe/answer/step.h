// step.h: the training steps of a process: how many, how long, of which types, and which were slow; and its named parts.
//
// The waist (answer/). analysis/measures/steps.h and regions.h fill it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "histogram.h"
#include "thread_key.h"

namespace hostprobe::analysis {

// Which steps are asked for.
enum class StepChoice : std::uint8_t { kAuto, kMarks, kDetected, kOff };

enum class StepSource : std::uint8_t { kNone, kMarks, kDetected };

struct Step {
  std::uint64_t number = 0;
  double begin_ns = 0;
  double end_ns = 0;
  std::uint32_t type = 0;

  double length_ns() const { return end_ns - begin_ns; }
};

// Of some lengths; exactly where they are listed.
struct StepLengths {
  std::uint64_t count = 0;
  double total_ns = 0;
  double median_ns = 0;
  double p99_ns = 0;
  double max_ns = 0;
};

struct StepTypeAnswer {
  std::string name;  // train: what takes most of the time; warm_up, evaluation, checkpoint, other
  StepLengths lengths;
  std::uint64_t compute = 0;  // the same for types that launch the same and exchange the same
};

struct SlowStep {
  Step step;
  double excess_ns = 0;  // over the median of its type
};

struct StepAnswer {
  StepSource source = StepSource::kNone;
  bool by_optimizer = false;  // marks that hostprobe made at torch's optimizer, not the program
  ThreadKey thread{};
  StepLengths lengths;                // of all
  std::vector<Step> steps;            // those with a place in time, in order
  double begin_ns = 0;                // of the first of these, in the process's time
  double end_ns = 0;                  // of the last
  double collectives = 0;             // in a step, of the type that takes most of the time
  std::vector<StepTypeAnswer> types;  // by Step::type

  // Beside others of their type, slowest first.
  std::vector<SlowStep> slowest(std::size_t most) const;
  const Step* numbered(std::uint64_t number) const;
  // What every report calls the median: that of the usual type, because one over different types is the length of no step. Of all,
  // where most of them have no place in time any more.
  double usual_ns() const;
  // Index of the type, of steps that have a place in time; 0: there are none.
  std::size_t usual_type() const;
  // The types say something of all steps.
  bool all_have_types() const { return !types.empty() && lengths.count <= steps.size(); }
};

// "marks", "detected", "none". Steps of torch's optimizer are detected: nobody marked them.
const char* step_source_name(const StepAnswer& steps);

// A part of its own time that the program, PyTorch or a library named.
struct RegionAnswer {
  std::string name;
  std::string source;  // who named it: the row of the hook table
  Histogram time;
};

}  // namespace hostprobe::analysis
