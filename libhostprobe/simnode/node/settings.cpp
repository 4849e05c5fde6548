// Reads SIMNODE_*: see settings.h.
#include "settings.h"

#include "say.h"

#include <cuda.h>
#include <fnmatch.h>
#include <cmath>
#include <cstdlib>

namespace simnode {

namespace {

constexpr double kLongestUs = 3600e6;  // an hour: more is a slip of the unit, and would look like a hang

void read_whole(const char* name, int64_t low, int64_t high, int64_t* value) {
  const char* text = getenv(name);
  if (text == nullptr || *text == '\0') return;
  char* end;
  long long number = strtoll(text, &end, 10);
  if (*end == '\0' && number >= low && number <= high) {
    *value = number;
    return;
  }
  say("%s=%s is not a whole number from %lld to %lld; using %lld. Give such a number or unset it.", name, text,
      static_cast<long long>(low), static_cast<long long>(high), static_cast<long long>(*value));
}

void read_us(const char* name, int64_t* nanoseconds) {
  const char* text = getenv(name);
  if (text == nullptr || *text == '\0' || parse_us(text, nanoseconds)) return;
  say("%s=%s is not a number of microseconds; using %g. Give such as 2 or 0.5.", name, text,
      static_cast<double>(*nanoseconds) / 1000);
}

// `value` is kept in units of `unit`.
void read_number(const char* name, double low, double high, double unit, double* value) {
  const char* text = getenv(name);
  if (text == nullptr || *text == '\0') return;
  char* end;
  const double number = strtod(text, &end);
  if (end != text && *end == '\0' && number >= low && number <= high) {
    *value = number * unit;
    return;
  }
  say("%s=%s is not a number from %g to %g; using %g. Give such a number or unset it.", name, text, low, high,
      *value / unit);
}

// PATTERN=US;PATTERN=US. One bad part is reported and skipped, the others stand.
void read_kernels(std::vector<KernelDuration>* kernels) {
  const char* text = getenv("SIMNODE_KERNEL_US");
  std::string_view rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    size_t end = rest.find(';');
    std::string_view part = rest.substr(0, end);
    rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
    size_t first = part.find_first_not_of(" \t");
    if (first == std::string_view::npos) continue;
    part.remove_prefix(first);
    size_t equals = part.rfind('=');
    int64_t duration_ns;
    if (equals != std::string_view::npos && equals > 0 && parse_us(part.substr(equals + 1), &duration_ns)) {
      kernels->push_back({std::string(part.substr(0, equals)), duration_ns});
      continue;
    }
    say("SIMNODE_KERNEL_US: '%.*s' is not PATTERN=MICROSECONDS; this part is ignored. Give such as 'gemm*=120;*=10'.",
        static_cast<int>(part.size()), part.data());
  }
}

}  // namespace

bool parse_us(std::string_view text, int64_t* nanoseconds) {
  std::string copy(text);
  char* end;
  double us = strtod(copy.c_str(), &end);
  while (*end == ' ') ++end;
  if (copy.empty() || end == copy.c_str() || *end != '\0' || !std::isfinite(us) || us < 0 || us > kLongestUs)
    return false;
  *nanoseconds = std::llround(us * 1000);
  return true;
}

Settings::Settings() : driver_version(CUDA_VERSION) {
  int64_t value = devices;
  read_whole("SIMNODE_GPUS", 0, kMaxDevices, &value);
  devices = static_cast<int>(value);
  value = compute_capability;
  read_whole("SIMNODE_COMPUTE_CAPABILITY", 50, 999, &value);
  compute_capability = static_cast<int>(value);
  value = driver_version;
  read_whole("SIMNODE_DRIVER_VERSION", 11000, CUDA_VERSION, &value);
  driver_version = static_cast<int>(value);
  value = memory_bytes >> 20;
  read_whole("SIMNODE_MEMORY_MB", 64, 1 << 22, &value);
  memory_bytes = value << 20;
  read_us("SIMNODE_LAUNCH_US", &launch_ns);
  read_us("SIMNODE_EVENT_US", &event_ns);
  read_us("SIMNODE_EVENT_DEVICE_US", &event_device_ns);
  read_us("SIMNODE_EVENT_RESOLUTION_US", &event_resolution_ns);
  read_us("SIMNODE_START_US", &start_ns);
  read_us("SIMNODE_EVENT_START_US", &event_start_ns);
  read_us("SIMNODE_BEHIND_US", &behind_ns);
  read_number("SIMNODE_SPREAD_PCT", 0, 100, 0.01, &spread);
  read_number("SIMNODE_DRIFT_PCT", 0, 50, 0.01, &drift);
  read_whole("SIMNODE_SEED", 0, INT64_MAX, &seed);
  read_number("SIMNODE_OVERLAP_STRETCH", 1, 100, 1, &overlap_stretch);
  read_whole("SIMNODE_QUEUE", 0, 1 << 20, &queue);
  read_number("SIMNODE_DEVICE_PPM", -10000, 10000, 1, &device_ppm);
  read_kernels(&kernels);
}

int64_t Settings::kernel_ns(const char* name) const {
  for (const KernelDuration& kernel : kernels)
    if (fnmatch(kernel.pattern.c_str(), name, 0) == 0) return kernel.duration_ns;
  return other_kernel_ns;
}

}  // namespace simnode
