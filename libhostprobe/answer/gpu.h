// gpu.h: what the GPU of a process did, when it had nothing to do, and the calls in which the process waited for it.
//
// The waist (answer/). analysis/measures/gpu_busy.h, certain_idle.h and syncs.h fill it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "histogram.h"
#include "role.h"

namespace hostprobe::analysis {

// How it is known what ran on a GPU.
enum class ActivitySource : std::uint8_t {
  kNone,
  kProfile,  // exactly
  kEvents,   // from timing events of hostprobe's own, and learned durations
  kBounds,   // only when it was empty for certain
  kAccount,  // exactly, by who asks: what a test hands in
};

// An id, for scripts; of what is known.
const char* activity_source_name(ActivitySource source);

struct KernelByName {
  std::string name;
  Histogram time;
};

struct DeviceBusy {
  std::uint32_t device = 0;
  double busy_ms = 0;
};

// A replay beside profiles that were taken of the process meanwhile, from the first to the last that each of them saw run.
struct GpuCheck {
  std::uint64_t profiles = 0;
  double ms = 0;                          // of all of them
  double busy_pct = 0, replayed_pct = 0;  // of that time: by the profiles, and by the replay
  double unknown_pct = 0;                 // of that time, by the replay
  double worst_points = 0;                // between the two, in one profile
};

struct GpuAnswer {
  ActivitySource source = ActivitySource::kNone;
  std::uint64_t kernels = 0;
  double kernel_ms = 0;
  std::uint64_t copies = 0;
  std::uint64_t fills = 0;
  // Nothing where some activities are counted and have no place in time.
  std::optional<double> busy_ms;
  std::optional<double> idle_in_steps_pct;  // nothing where no steps are known
  double idle_error_pct = 0;                // by which that may be wrong
  double unknown_pct = 0;                   // of the steps: it may have been busy or not
  std::vector<DeviceBusy> devices;          // where there are several
  std::vector<KernelByName> by_name;        // longest in all first
  std::optional<GpuCheck> check;
};

struct CertainIdle {
  std::uint64_t spans = 0;
  double ms = 0;
};

struct Gap {
  double begin_ns = 0;
  double end_ns = 0;
  // What ended it: the activity that ran next, and the call that launched that one.
  std::string kernel;
  std::string function;  // "" = no record of it
  std::uint32_t tid = 0;
  std::string thread;
  double launch_ns = 0;
};

struct GapAnswer {
  Histogram length;
  std::vector<Gap> longest;  // at most ten, longest first
};

using KernelTimes = std::map<std::string, Histogram>;  // by name

// Calls that return at once, unless the GPU has to be waited for.
struct GpuStall {
  std::uint64_t count = 0;
  std::map<Role, double> ms_by_role;
  double share_pct = 0;  // as of synchronisations

  double total_ms() const {
    double ms = 0;
    for (const auto& [role, of_role] : ms_by_role) ms += of_role;
    return ms;
  }
  void add(const GpuStall& other) {
    count += other.count;
    for (const auto& [role, ms] : other.ms_by_role) ms_by_role[role] += ms;
  }
};

struct SyncAnswer {
  bool hooked = false;
  Histogram time;
  std::map<std::string, std::uint64_t> by_function;
  std::map<Role, double> total_ms_by_role;
  double share_pct = 0;  // of the lives of the threads that wait most, each instant once
  GpuStall memory;       // allocations and frees, the latter among the synchronisations too
  GpuStall copies;       // into a stream, of memory that is not pinned
};

}  // namespace hostprobe::analysis
