// auto.h: the fix `auto`: each other fix is tried in windows of steps with and without it, and stays where it is shown to help.
//
// Room 2 (probe/). The writer thread. One rank of a job, the lowest, decides for all; each measures, and a window counts as its slowest
// rank's. docs/reference/fixes.md, docs/decisions/0022-auto.md.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hostprobe::probe {

// `names`: comma-separated, "" = every fix there is. False: one of them is no fix; `why` says which.
bool want_auto(bool on, const char* names, char* why, std::size_t bytes);

// By the thread that starts the recording: which job this is.
void note_job(char** environment);

// Four times a second, behind the fixes' own. `last`: the trace ends.
void tend_auto(bool last);

}  // namespace hostprobe::probe
