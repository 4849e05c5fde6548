// events.h: what hostprobe itself did, for the report: dumps, pauses, settings, detail given up.
//
// Room 2 (probe/). The writer thread only.
#pragma once

#include "format/file.h"

namespace hostprobe::probe {

// Appends a row to the trace file; `text` is cut to its length. False: the file did not take it.
bool note_event(EventKind kind, std::uint32_t reason, std::uint64_t number, std::uint64_t amount, const char* text);
// The same of an earlier moment.
bool note_event_at(std::uint64_t ticks, EventKind kind, std::uint32_t reason, std::uint64_t number,
                   std::uint64_t amount, const char* text);

// While a fix goes on and off in a trial, what it says of itself is not noted: those kEventFix whose text begins with `name`. Null: none.
void mute_fix(const char* name);

// Those that the program has collected since the last call.
void note_child_ends();

}  // namespace hostprobe::probe
