// reading_events.h: what an import could not read of its file, as events of the trace that it makes.
//
// Room 3.
#pragma once

#include <cstdint>
#include <string>

#include "left_out.h"
#include "trace/trace_writer.h"

namespace hostprobe::analysis {

// At that moment. `problem` is "" where the file was read to its end; bytes as in ProfileReading.
void add_reading_events(const LeftOut& left_out, const std::string& problem, std::uint64_t read_bytes,
                        std::uint64_t all_bytes, std::uint64_t ticks, TraceWriter& out);

}  // namespace hostprobe::analysis
