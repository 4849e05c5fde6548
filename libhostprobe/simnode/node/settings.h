// The SIMNODE_* settings, read once by cuInit. A malformed value is reported in one line and its default used.
#pragma once
#include "fault.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace simnode {

constexpr int kMaxDevices = 64;

struct KernelDuration {
  std::string pattern;  // a glob on the kernel's name
  int64_t duration_ns;
};

struct Settings {
  int devices = 1;
  int64_t launch_ns = 2000;
  std::vector<KernelDuration> kernels;  // first match wins
  int64_t other_kernel_ns = 10000;
  int compute_capability = 90;
  int driver_version;
  int64_t memory_bytes = int64_t{80} << 30;
  Faults faults{true};
  int rank = job_rank();

  Settings();
  int64_t kernel_ns(const char* name) const;
};

// Text of microseconds such as "12" or "0.5" in nanoseconds; false when it is anything else.
bool parse_us(std::string_view text, int64_t* nanoseconds);

}  // namespace simnode
