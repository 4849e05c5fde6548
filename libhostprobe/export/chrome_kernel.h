// chrome_kernel.h: CPUs as rows of a timeline: who ran, and below it which interrupts came.
//
// Room 3.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "trace/trace.h"

namespace hostprobe::analysis {

// `add` takes one event of the document; `pid` is the process that the rows belong to, `shift_ns` is added to CLOCK_MONOTONIC.
void write_chrome_kernel(const Trace& trace, std::uint64_t pid, std::int64_t shift_ns,
                         const std::function<void(std::string_view)>& add);

}  // namespace hostprobe::analysis
