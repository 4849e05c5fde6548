// opened_traces.h: the traces of a run, each read and answered for itself, and held open as far as answers about all of them need it.
//
// Room 3. As many are read at a time as there are cores.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/ranks/process_work.h"
#include "answer/run.h"
#include "model/run_devices.h"
#include "run_query.h"

namespace hostprobe::analysis {

class CollectiveKernels;
class Symbols;
struct DeviceTimeline;

// One trace file. What is open stays open where collectives are to be put together with other ranks'.
struct Opened {
  std::string path;
  std::unique_ptr<Trace> trace;
  std::unique_ptr<Timeline> timeline;
  std::unique_ptr<HostedWork> gpu_work;          // until it is told what ran
  std::shared_ptr<const DeviceTimeline> device;  // nullptr: there is no room to hold it
  std::shared_ptr<const CollectiveKernels> kernels;
  std::optional<ProcessAnswer> answer;
  ProcessWork work;
  std::optional<Unreadable> unreadable;
  bool is_kernel = false;  // of a machine, no process: there is a trace and nothing else
  bool is_absent = false;  // it did not live during the step that is asked about

  std::shared_ptr<const DeviceTimeline> read_device() const;
};

std::vector<Opened> read_all(const std::vector<std::string>& paths, Symbols& symbols, MemoryBudget& budget,
                             const Progress& progress, unsigned cores, const StepQuery& query, bool has_kernel);

// Ranks that make collectives together make steps of one length: one that seems to make others was misunderstood.
void drop_disagreeing(std::vector<Opened>& opened);

// Throws std::invalid_argument when there is no such step.
OneStep limit_to_one(std::vector<Opened>& opened, const StepQuery& query, Symbols& symbols, unsigned cores);

// Those of processes that are held open.
std::map<std::string, const Opened*> by_trace(const std::vector<Opened>& opened);

}  // namespace hostprobe::analysis
