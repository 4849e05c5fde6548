// action_sentences.h: what hostprobe itself did, in words: dumps, pauses, settings, detail given up.
//
// Room 3. For report/text.cpp; the JSON report has them one by one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "answer/run.h"

namespace hostprobe::analysis {

// One sentence each, by process and time. Not `all`: those that a reader can do without are left out, and counted.
std::vector<std::string> action_sentences(const RunAnswer& run, bool all);

// What the fix `auto` tried, and what it decided. "": it tried nothing.
std::string trial_table(const RunAnswer& run, std::size_t width);

// Of a process whose records went into counters: what of its life can be seen call by call. "" = all of it.
std::string visible_part(const ProcessAnswer& process);

}  // namespace hostprobe::analysis
