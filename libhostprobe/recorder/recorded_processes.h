// recorded_processes.h: whether any of some processes records, or all of them pause (hostprobe_stop, `hostprobe ctl PID stop`).
//
// Room kernel/.
#pragma once

#include <vector>

namespace hostprobe {
struct SegmentHeader;
}

namespace hostprobe::kernel {

class RecordedProcesses {
 public:
  explicit RecordedProcesses(const std::vector<int>& pids);
  ~RecordedProcesses();
  RecordedProcesses(const RecordedProcesses&) = delete;
  RecordedProcesses& operator=(const RecordedProcesses&) = delete;

  // False where one of them has no hostprobe in it that could be seen: it is to be recorded all the time.
  bool all_pause() const;

 private:
  std::vector<const SegmentHeader*> segments_;  // nullptr: none
};

}  // namespace hostprobe::kernel
