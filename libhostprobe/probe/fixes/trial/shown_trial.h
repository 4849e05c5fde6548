// shown_trial.h: what is said of a trial: in the trace once it is over, and in shared memory meanwhile, for `hostprobe top`.
//
// Room 2 (probe/). The writer thread, which alone writes that part of the shared memory.
#pragma once

#include <cstddef>

#include "format/segment.h"
#include "probe/fixes/trial/trial.h"

namespace hostprobe::probe {

// As the report reads it (format/trial_text.h).
void write_trial(const char* fix, Verdict verdict, const Trial& trial, char* text, std::size_t bytes);

// Its numbers.
void fill_trial(const Trial& trial, const Gain& gain, ShownTrial& shown);

// The serial of `trial` does not count.
void show_trial(const ShownTrial& trial);

}  // namespace hostprobe::probe
