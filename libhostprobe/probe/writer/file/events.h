// events.h: what hostprobe itself did, for the report: dumps, pauses, settings, detail given up.
//
// Room 2 (probe/). The writer thread only.
#pragma once

#include "format/file.h"

namespace hostprobe::probe {

// Appends a row to the trace file; `text` is cut to its length. False: the file did not take it.
bool note_event(EventKind kind, std::uint32_t reason, std::uint64_t number, std::uint64_t amount, const char* text);

// Those that the program has collected since the last call.
void note_child_ends();

}  // namespace hostprobe::probe
