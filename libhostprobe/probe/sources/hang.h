// hang.h: a process that makes no progress any more asks for its last seconds to be written out.
//
// Room 2 (probe/). On the writer thread, looks once a second. Progress is whatever steps are made of or end with
// (RowFacts::is_progress), in any thread, and the end of a step that was found by waits that repeat: other waiting and polling
// go on in a job that hangs. Nothing on the hot path helps it: it looks at the newest records in the segment.
#pragma once

#include <cstdint>

#include "probe/sources/source.h"

namespace hostprobe::probe {

void watch_progress(const Round& round);

// How long there has been no progress in a process that had some; until it has asked.
std::uint64_t quiet_ns();

}  // namespace hostprobe::probe
