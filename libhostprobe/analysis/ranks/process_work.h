// process_work.h: what answers over several processes need of one, and no report.
//
// Room 3. analysis/process.h fills it; it is gone once the run is answered.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analysis/measures/wake_chains.h"
#include "collectives.h"
#include "model/timeline.h"

namespace hostprobe::analysis {

// A child that a process collected.
struct ChildEnd {
  std::uint32_t pid = 0;
  int status = 0;  // as waitpid gives it
  std::uint64_t realtime_ns = 0;
};

struct ProcessWork {
  std::shared_ptr<WakeChains> blocked;  // of all threads, as long as chains may go on in other processes
  ProcessCollectives collectives;
  std::shared_ptr<Timeline::Collectives> collective_records;  // until the timeline holds them
  std::vector<ChildEnd> children_ended;
};
using ProcessWorks = std::map<std::string, ProcessWork>;  // by trace

}  // namespace hostprobe::analysis
