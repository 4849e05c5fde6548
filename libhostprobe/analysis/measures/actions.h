// actions.h: what hostprobe itself did in a process and why, what that cost, and what it could not read.
//
// Room 3. From the rows in the trace (format/file.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "answer/process.h"

namespace hostprobe::analysis {

struct Trace;

// By time. What a newer hostprobe may write is kept, with its numbers.
std::vector<ActionAnswer> actions_of(const Trace& trace, std::uint64_t start_monotonic_ns);

// Out of the text of a fix's event (format/trial_text.h); nothing: it tells of no trial.
std::optional<TrialAnswer> trial_in(const std::string& text);

// What is missing in a trace that was made of another tool's file, as who read that has put it there; nothing: nothing is.
std::optional<ImportAnswer> answer_import(const std::vector<ActionAnswer>& actions);

// That the GPU had nothing to do is not known where its work may stand in the rest of such a file.
void forget_what_may_be_missing(ProcessAnswer& process);

// What hostprobe itself cost: measured costs per call (by the probe, on that CPU) times calls, plus what the slow paths and the writer thread
// took. Nothing when the probe had not measured its costs yet.
std::optional<OwnCost> own_cost(const Trace& trace);

}  // namespace hostprobe::analysis
