// doctor.h: what this machine, or container, lets hostprobe do, and what to change where it does not.
//
// Room kernel/. Looking and judging are apart, so that judging is tested with machines that nobody has.
#pragma once

#include <string>
#include <vector>

namespace hostprobe::kernel {

// Errors are the kernel's numbers: 0 it was allowed, kKilled the process that asked was ended for it.
inline constexpr int kKilled = -1;
inline constexpr int kNotThere = -100;  // of a setting that this kernel has not

struct MachineFacts {
  bool is_root = false;
  bool has_library = true;  // libhostprobe.so, where the command looks for it
  int perf_error = 0;       // of switch records of an own thread
  int perf_paranoid = kNotThere;
  long perf_locked_kb = kNotThere;  // of a CPU, for all of a user's
  int seccomp = 0;                  // 0 none, 1 strict, 2 a filter
  int copy_error = 0;               // of copying own memory by the kernel
  int ptrace_scope = kNotThere;
  int segment_error = 0;        // of shared memory
  std::string tracefs_problem;  // "" = can be used
  int swept = 0;                // instances that dead recordings had left, removed now
  std::string bpf_problem;      // "" = programs can be loaded into the kernel
  bool has_pressure = false;
  int cpus_allowed = 1, cpus_online = 1;
  double quota_cpus = 0;  // of the tightest control group; 0: there is none
  std::string quota_group;
  int autogroup = kNotThere;  // 1: on
  bool may_raise_priority = false;
  std::string clock_source;
};

enum class Health { kGood, kLimited, kMissing };

struct Finding {
  std::string name;
  Health health = Health::kGood;
  std::string what;  // is so
  std::string why;   // it matters
  std::string todo;  // "" = nothing
};

// Asks the kernel; removes what dead recordings have left. `library`: where the probe should be.
MachineFacts look_at_machine(const std::string& library);
// The quota of the tightest group, of which the process is in `folder`, below `root`. 0: none.
double tightest_quota(const std::string& root, const std::string& folder, std::string& group);

// In the order in which they matter.
std::vector<Finding> judge(const MachineFacts& facts);

const char* health_name(Health health);

}  // namespace hostprobe::kernel
