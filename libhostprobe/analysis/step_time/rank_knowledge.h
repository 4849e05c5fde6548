// rank_knowledge.h: what is known for good of each rank, before its steps are explained.
//
// Room 3.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/measures/pools.h"
#include "blocked_code.h"
#include "call_causes.h"
#include "gpu_states.h"
#include "launch_pace.h"
#include "low_frequency.h"
#include "own_code.h"
#include "step_inputs.h"
#include "step_time_member.h"
#include "throttled.h"
#include "without_cpu.h"

namespace hostprobe::analysis {

// The rank's process, or a worker of its data loader.
struct KnownProcess {
  CallCauses causes;
  WithoutCpu without_cpu;
  BlockedCode blocked_code;
  OwnCode own_code;
  ThrottledTime throttled;
  std::vector<Window> halts;  // by time
};

struct Rank {
  const PathGraph* graph;
  std::int32_t thread;  // that makes the steps
  std::vector<GpuStretch> gpu;
  LaunchPace pace;
  bool has_python;
  bool gpu_is_exact;  // its times are measured, and not worked out
  LowFrequency frequency;
  StepInputs inputs;
  std::optional<PoolDemand> pools;                       // nothing: those of the job fit the CPUs that it may use
  std::vector<std::unique_ptr<KnownProcess>> processes;  // by HostThread::process

  KnownProcess& process_of(const HostThread& one) const { return *processes[one.process]; }
  const OwnCode& own_code() const { return processes[0]->own_code; }
  const std::vector<Window>& halts() const { return processes[0]->halts; }
};

OutsidePeers outside_peers(const JobGraph& job, const std::vector<StepTimeMember>& members);

// Times on the axis of the job.
std::vector<Rank> known_ranks(const JobGraph& job, const std::vector<StepTimeMember>& members,
                              const std::vector<Window>& steps, Symbols& symbols);

}  // namespace hostprobe::analysis
