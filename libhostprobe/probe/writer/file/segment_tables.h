// segment_tables.h: strings and stacks, as the program's threads put them into the segment, into the file.
//
// Room 2 (probe/). On one thread at a time. Each goes there once; a record may name one that comes a moment later.
#pragma once

namespace hostprobe::probe {

// Those that came since the last call.
void write_strings();
void write_stacks();

}  // namespace hostprobe::probe
