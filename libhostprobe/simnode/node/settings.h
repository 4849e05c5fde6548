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
  int64_t event_ns = 1300;           // a record, on the host
  int64_t event_device_ns = 1300;    // and on the device
  int64_t event_resolution_ns = 32;  // of a time stamp; 0: exact
  int64_t start_ns = 6000;           // from the submission into an empty stream to the begin
  int64_t event_start_ns = 1700;     // and of an event
  int64_t behind_ns = 1400;          // from the end of the work before to the begin
  double spread = 0.02;              // standard deviation of a kernel's duration, as a share of it
  double drift = 0.01;               // amplitude of the slow change of all durations
  int64_t seed = 1;
  double overlap_stretch = 1.3;         // how much longer a kernel's part takes during which another stream computes
  int64_t queue = 1024;                 // unfinished launches of a stream; 0: any number
  double device_ppm = 8;                // how much faster the device's clock runs than the host's
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
