// view_json.h: the view of `hostprobe top` as a document (libhostprobe/report/schema/top.schema.json).
//
// Room 3. A pure function of the view.
#pragma once

#include <cstdint>
#include <string>

#include "live_view.h"

namespace hostprobe::analysis {

// `realtime_ns`: when it was looked at. On one line, so that a document a second can be read line by line, or on many.
std::string view_json(const LiveView& view, std::uint64_t realtime_ns, bool one_line);

}  // namespace hostprobe::analysis
