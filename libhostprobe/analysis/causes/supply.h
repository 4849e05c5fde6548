// supply.h: whether what a rank lacks is there at all: workers that still have time, CPUs that nobody else takes.
//
// Room 3. Advice to give a job more of something is only as good as this evidence.
#pragma once

#include <optional>
#include <string>

#include "answer/run.h"

namespace hostprobe::analysis {

// Of a worker's time: more of them help only those that have no more left.
inline constexpr double kBusyPct = 60;

// The worker processes of a rank's DataLoader.
struct Workers {
  std::uint64_t count = 0;  // 0: none was seen
  double cpu_pct = 0;       // running, of their lives
  double no_cpu_pct = 0;    // ready to run, and not running
  std::string wait;         // the heaviest wait of their main threads

  bool are_busy() const;
};
Workers workers_of(const RunAnswer& run, const ProcessAnswer& process);

// Of all processes of the run on this one's host.
struct Cpus {
  std::uint64_t allowed = 0;  // that this process may use
  double used = 0;            // on average
  double wanted = 0;          // the same, and what was ready to run
  double others = 1e300;      // at most used by others, by the idle time of the machine

  // The job itself keeps them busy, and has more to run than they can.
  bool are_too_few() const;
  // It keeps so few of them busy that others must have had the rest, and the machine was not idle.
  bool are_taken() const;
};
// Nothing: how many it may use is not known.
std::optional<Cpus> cpus_of(const RunAnswer& run, const ProcessAnswer& process);

// Who had the CPUs that the process's main thread lacked, as far as the job's own use of them shows, and what helps.
void add_supply(Finding& finding, const RunAnswer& run, const ProcessAnswer& process);

}  // namespace hostprobe::analysis
