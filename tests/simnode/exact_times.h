// For tests that compare modelled durations exactly: what the simulated driver does to times, as a real one does, is switched
// off. The tests of that itself are in timing_test.cpp.
#pragma once
#include <cstdlib>
#include <utility>

inline constexpr std::pair<const char*, const char*> kExactTimes[] = {
    {"SIMNODE_EVENT_US", "0"},        {"SIMNODE_EVENT_DEVICE_US", "0"}, {"SIMNODE_EVENT_RESOLUTION_US", "0"},
    {"SIMNODE_START_US", "0"},        {"SIMNODE_BEHIND_US", "0"},       {"SIMNODE_SPREAD_PCT", "0"},
    {"SIMNODE_DRIFT_PCT", "0"},       {"SIMNODE_QUEUE", "0"},           {"SIMNODE_DEVICE_PPM", "0"},
    {"SIMNODE_OVERLAP_STRETCH", "1"}, {"SIMNODE_EVENT_START_US", "0"}};

inline void make_times_exact() {
  for (const auto& [name, value] : kExactTimes) setenv(name, value, 1);
}
