// switch_limit.h: threads that switch too often have no records of it (perf/switch_rates.h), and what that does to the others.
//
// Room 2 (probe/). The writer thread, or whoever ends the trace. A thread that inherited its events cannot lose them alone: so all
// threads lose theirs, at once, and those that are not left out get new ones. What happens in between is told as not known.
#pragma once

#include "probe/sources/perf/switch_counts.h"
#include "probe/sources/perf/switch_holes.h"
#include "probe/sources/perf/switch_rates.h"
#include "probe/sources/perf/switch_rings.h"

namespace hostprobe::probe {

inline constexpr unsigned kMostLeftOutRows = 2 * (SwitchRates::kPlaces + SwitchHoles::kMost);

// The buffers; closed where switches are not recorded.
extern SwitchRings g_switch_rings;
// What is in them, held against what the kernel counts.
extern SwitchCounts g_switch_counts;

// With the buffers. `times`: of the rates that HOSTPROBE_BUDGET allows where a switch costs as much as usual. False: no memory.
bool open_limit(double times);
void close_limit();
// HOSTPROBE_BUDGET 0: no thread is held to a rate.
bool holds_to_rates();
// What has been written since the last time; does nothing where that is not long ago.
void hold_to_rates(std::uint64_t now_ns);
// In each round: threads whose makers were left out.
void follow_threads();

ThreadOrigin origin_of(std::uint32_t tid);
bool is_left_out(std::uint32_t tid);
// That is known of a thread now.
void compare_runs(std::uint32_t tid, std::uint64_t created_ticks, std::uint64_t runs);

// What there are no rows of on purpose, between two moments: as rows, at most kMostLeftOutRows. Returns how many.
std::uint64_t add_left_out(SwitchRow* rows, std::uint64_t begin_ticks, std::uint64_t end_ticks);
void forget_left_out(std::uint64_t before_ticks);

}  // namespace hostprobe::probe
