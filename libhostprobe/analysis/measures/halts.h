// halts.h: when somebody had stopped a whole process: a signal, a debugger, a freezer.
//
// Room 3. hostprobe's own thread tells of each, with a moment before it and how late it was (kEventHalted in format/file.h). In between it began
// with the last thing that any thread did; and where some thread did something while the process is said to have stood still, it did not.
// Switches know it to the microsecond: who stops a process wakes each of its threads, which goes to sleep again at once, and who lets it
// go on wakes all of them again. Of stops that were over before the sleep of hostprobe's own thread was there is nothing else.
#pragma once

#include <vector>

#include "model/timeline.h"
#include "model/window.h"

namespace hostprobe::analysis {

// On the trace's own axis, by time; none overlap.
std::vector<Window> halts_of(const Timeline& timeline);

}  // namespace hostprobe::analysis
