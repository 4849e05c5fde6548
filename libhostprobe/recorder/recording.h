// recording.h: one recording of the kernel's scheduler: a process that records, and this one, which outlives it and cleans up.
//
// Room kernel/. Kill the recorder: we remove its instance and save what it had written. Kill us: the recorder sees it, ends and
// removes its instance. Kill both: the next recording does.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sched_options.h"

namespace hostprobe::kernel {

struct RecordingEnd {
  std::string path;     // of the trace; "" = there is none
  std::string problem;  // why there is none, or why it is not all; "" = it is
  std::uint64_t rows = 0;
  std::uint64_t lost = 0;
  std::uint64_t cost_ns = 0;  // CPU time of all CPUs, where the source knows it
  std::vector<std::string> notes;
};

class Recording {
 public:
  explicit Recording(SchedOptions options);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // Returns when the recorder is ready: for the program, else it records. Throws std::runtime_error with what keeps it.
  void start();
  // In the child that is going to be the program: waits until it is recorded. False: that is not to be.
  bool hold();
  // The program runs, or has failed to.
  void let_go();
  // Waits for the end: of the time, of the processes, or a signal that asks us to.
  void wait();
  // `switches`: of the program and what it waited for, by the kernel's count; 0 = not known.
  RecordingEnd stop(std::uint64_t switches);

 private:
  [[noreturn]] void be_the_recorder();
  bool hear();
  void clean_up_after_kill();

  SchedOptions options_;
  pid_t recorder_ = 0;
  int to_recorder_[2] = {-1, -1};
  int from_recorder_[2] = {-1, -1};
  int program_pid_[2] = {-1, -1};  // the program's child tells the recorder its id
  int go_[2] = {-1, -1};           // and waits for this
  std::string heard_;
  std::string unfinished_, final_;  // its file, as long as it is not complete
  bool ready_ = false, done_ = false;
  RecordingEnd end_;
};

}  // namespace hostprobe::kernel
