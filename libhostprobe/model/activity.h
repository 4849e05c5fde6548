// activity.h: what ran on the GPU: kernels, copies and fills on streams; and how certain that is.
//
// Room 3. Exact, of a profile; else from timing events and replay, or only where the GPU was empty for certain (gpu_timeline.h). Each
// activity names the launch call that caused it by thread and begin, whatever the source; the activities of a graph share one launch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "answer/gpu.h"

namespace hostprobe::analysis {

struct Trace;

enum class ActivityType : std::uint8_t { kKernel, kCopy, kFill };

// Times as in event.h.
struct Activity {
  ActivityType type = ActivityType::kKernel;
  bool collective = false;  // a kernel of NCCL: it waits for those of other ranks
  bool unknown = false;     // from its begin to its end the GPU may have been busy or not
  float error_ns = 0;       // by which its end may be wrong
  double begin_ns = 0;
  double end_ns = 0;
  std::uint32_t stream = 0;       // in DeviceTimeline::streams
  std::uint32_t name = 0;         // in DeviceTimeline::names
  std::uint32_t launch_tid = 0;   // 0 = the launch is not known
  std::uint32_t correlation = 0;  // of a profile
  double launch_ns = 0;           // begin of the launch call, or a moment inside it
  std::uint32_t kernels = 1;      // of a graph that is one activity, or of what is not known one by one
  std::uint64_t bytes = 0;        // of a copy or fill
};

struct DeviceStream {
  std::uint32_t device = 0;
  std::uint64_t id = 0;
};

// What a call that waits for the GPU waited for, or found done: what that launch gave one stream.
struct GpuWait {
  double begin_ns = 0;  // of the call
  double launch_ns = 0;
  std::uint32_t launch_tid = 0;
};

// All activities of one process.
struct DeviceTimeline {
  ActivitySource source = ActivitySource::kNone;
  std::vector<DeviceStream> streams;
  std::vector<std::string> names;
  std::vector<Activity> activities;  // by begin
  std::vector<GpuWait> waits;        // by begin; a call may have several. None: nobody knows
  // Kernels that are counted and nothing else, because the file was full.
  std::uint64_t kernels_without_time = 0;
  double ns_without_time = 0;
  std::uint64_t others_without_time = 0;  // copies and fills
  std::uint64_t damaged = 0;              // rows of the file that make no sense

  // What waited for what is known: not where it is only known when a GPU was empty.
  bool has_order() const { return source != ActivitySource::kNone && source != ActivitySource::kBounds; }
  bool is_whole() const { return kernels_without_time + others_without_time + damaged == 0; }
};

// What is known exactly: of an imported profile. Else nothing, its source is kNone.
DeviceTimeline exact_timeline(const Trace& trace);

// For tests: what else is asked for what is exact. nullptr: nobody.
using AccountReader = DeviceTimeline (*)(const Trace& trace);
void set_account_reader(AccountReader reader);

// By begin, as questions expect them.
void put_in_order(std::vector<Activity>& activities);

}  // namespace hostprobe::analysis
