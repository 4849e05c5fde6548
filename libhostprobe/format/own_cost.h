// own_cost.h: what hostprobe's own work on the program's threads costs, as one formula for the probe, which keeps to a budget
// by it, and for the report.
//
// Room 1 (format/). The costs of one call are measured in the process and stand in its file's header.
#pragma once

#include <cstdint>

namespace hostprobe {

inline constexpr std::uint64_t kCostUnitsPerTick = 1024;  // FileHeader::record_cost_ticks and quiet_cost_ticks

// What an aggregated call costs is about what a record does: two clock readings and a few stores.
constexpr double recording_ticks(std::uint64_t records, std::uint64_t aggregated, std::uint64_t record_cost) {
  return static_cast<double>(records + aggregated) * static_cast<double>(record_cost) / kCostUnitsPerTick;
}

// Calls that left no record and were not aggregated, and launches that were left out.
constexpr double quiet_ticks(std::uint64_t quiet_calls, std::uint64_t skipped, std::uint64_t quiet_cost) {
  return static_cast<double>(quiet_calls + skipped) * static_cast<double>(quiet_cost) / kCostUnitsPerTick;
}

}  // namespace hostprobe
