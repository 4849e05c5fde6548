// For tests that compare modelled durations exactly: what the simulated driver does to times, as a real one does, is switched
// off. The tests of that itself are in timing_test.cpp.
#pragma once
#include <cstdlib>
#include <initializer_list>

inline void make_times_exact() {
  for (const char* name :
       {"SIMNODE_EVENT_US", "SIMNODE_EVENT_DEVICE_US", "SIMNODE_EVENT_RESOLUTION_US", "SIMNODE_START_US",
        "SIMNODE_BEHIND_US", "SIMNODE_SPREAD_PCT", "SIMNODE_DRIFT_PCT", "SIMNODE_QUEUE", "SIMNODE_DEVICE_PPM"})
    setenv(name, "0", 1);
  setenv("SIMNODE_OVERLAP_STRETCH", "1", 1);
}
