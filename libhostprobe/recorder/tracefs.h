// tracefs.h: the kernel's tracing files: where they are, and the instance that a recording has of its own.
//
// Room kernel/. An instance that is left behind goes on recording and costs the whole machine; so its name says whose it is, and
// everybody who starts removes those of the dead.
#pragma once

#include <string>
#include <vector>

#include "sched_options.h"

struct tracefs_instance;

namespace hostprobe::kernel {

// Makes them reachable for this process, in a mount namespace of its own where they are not mounted. Returns why not; "": they are.
std::string reach_tracefs();

// "hostprobe-PID-START-PART-NAMESPACE" of a process: its pid, when it began, the namespace that knows the pid.
std::string instance_name(int pid, const char* part);

// Removes what recordings that are dead have left. Returns how many.
int sweep_instances();

// Removes it for sure.
class Instance {
 public:
  // Throws std::runtime_error with what cannot be done.
  Instance(const std::string& name, std::vector<std::string> events, const std::vector<int>& cpus);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  tracefs_instance* get() const { return instance_; }
  bool has_ticks() const { return has_ticks_; }                         // else nanoseconds of CLOCK_MONOTONIC
  const std::vector<std::string>& missing() const { return missing_; }  // events that this kernel lacks

  // Records only what concerns these, and what they start.
  void limit_to(const std::vector<int>& tids);
  void switch_events();
  void turn(bool on);
  // What it counted as lost on a CPU so far.
  std::uint64_t lost(int cpu) const;

 private:
  void write(const char* file, const std::string& text);

  tracefs_instance* instance_ = nullptr;
  const std::vector<std::string> events_;
  bool has_ticks_ = false;
  std::vector<std::string> missing_;
};

}  // namespace hostprobe::kernel
