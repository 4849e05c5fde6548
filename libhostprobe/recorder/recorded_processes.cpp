// recorded_processes.cpp: see recorded_processes.h.
#include "recorded_processes.h"

#include <sys/shm.h>

#include <algorithm>

#include "live/process_segment.h"

namespace hostprobe::kernel {

RecordedProcesses::RecordedProcesses(const std::vector<int>& pids) {
  for (const int pid : pids) segments_.push_back(analysis::find_segment(pid, false).header);
}

RecordedProcesses::~RecordedProcesses() {
  for (const SegmentHeader* segment : segments_)
    if (segment != nullptr) shmdt(segment);
}

bool RecordedProcesses::all_pause() const {
  const auto pauses = [](const SegmentHeader* segment) {
    return segment != nullptr && __atomic_load_n(&segment->gate_moves, __ATOMIC_RELAXED) % 2 == 1;
  };
  return !segments_.empty() && std::all_of(segments_.begin(), segments_.end(), pauses);
}

}  // namespace hostprobe::kernel
