// What a process uses of the simulated devices, where others can see it: memory, and when the device was busy. The driver
// writes it into a memfd that it keeps open; the simulated NVML finds the memfds of living processes under /proc/PID/fd. So
// nothing is left behind when a process dies.
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

namespace simnode {

constexpr int kUsageDevices = 64;
constexpr unsigned kUsageSpans = 64;
constexpr int64_t kUsageSpanNs =
    125000000;  // 64 of them: 8 s, so work that is queued ahead does not overwrite the present

// Modelled busy time in one span of CLOCK_MONOTONIC.
struct UsageSpan {
  std::atomic<int64_t> number;  // which span; others are stale
  std::atomic<int64_t> busy_ns;
};

struct DeviceUsage {
  std::atomic<uint64_t> memory_bytes;
  std::atomic<uint32_t> contexts;
  // The latest stretch without a gap, which may reach far into the future: work that is queued ahead. What was before it
  // is added up in the spans.
  std::atomic<int64_t> stretch_start_ns, stretch_end_ns;
  UsageSpan spans[kUsageSpans];
};

struct Usage {
  uint64_t magic;
  DeviceUsage devices[kUsageDevices];
};

// Of this process; made at the first call. Never null: when no memfd can be had it is memory that nobody else sees.
Usage& own_usage();
// With the node's lock held: one writer.
void note_busy(DeviceUsage& device, int64_t start_ns, int64_t end_ns);

// Share of the last second in which the device was busy, 0 to 1.
double busy_share(const DeviceUsage& device, int64_t now_ns);

struct ProcessUsage {
  int pid;
  const Usage* usage;
};

// The living processes of this user that have called cuInit. Holds their usage mapped while it lives.
class UsageScan {
 public:
  UsageScan();
  ~UsageScan();
  UsageScan(const UsageScan&) = delete;
  UsageScan& operator=(const UsageScan&) = delete;
  const std::vector<ProcessUsage>& processes() const { return processes_; }

 private:
  std::vector<ProcessUsage> processes_;
};

}  // namespace simnode
