// run_devices.h: what ran on the GPUs of a run's processes, exactly or as calls and timing events tell.
//
// Room 3.
#pragma once

#include <memory>
#include <vector>

#include "model/gpu_timeline.h"
#include "opened_traces.h"

namespace hostprobe::analysis {

// nullptr: what ran is not known exactly.
std::shared_ptr<const DeviceTimeline> exact_device(const Timeline& timeline);

// What is exact can be read again from the trace; a replay of all processes of a host cannot be had from one.
bool is_read_again(const DeviceTimeline& device);

// Of those whose work for a GPU was read, those on one host together: they share a clock, and wait for each other.
void tell_devices(std::vector<Opened>& opened);

}  // namespace hostprobe::analysis
