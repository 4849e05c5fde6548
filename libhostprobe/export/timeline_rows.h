// timeline_rows.h: one process as rows of slices, for a form that viewers read.
//
// Room 3. Arrows lead from a launch to its kernel, and from the call that woke a thread to the wait that it ended.
#pragma once

#include "model/timeline.h"
#include "timeline_form.h"

namespace hostprobe::analysis {

void write_timeline_rows(const Timeline& timeline, TimelineForm& out);

}  // namespace hostprobe::analysis
