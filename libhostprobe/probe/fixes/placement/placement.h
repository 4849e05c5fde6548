// placement.h: which CPUs a rank takes for its main thread and its progress threads.
//
// Room 2 (probe/). Pure functions over a description of the machine: no system is asked. Rules: inside the allowed CPUs, next to the
// GPU where that is known, the main thread and each progress thread on a physical core of its own where all ranks can have that,
// and nothing that another rank has taken.
#pragma once

#include "probe/fixes/placement/cpu_set.h"

namespace hostprobe::probe {

struct Machine {
  CpuSet allowed;                 // to this process
  CpuSet near;                    // the GPU; empty: not known
  std::uint16_t core[kMostCpus];  // the first CPU of the same physical core
};

// What shares the allowed CPUs.
struct Demand {
  unsigned ranks;     // on this machine, this one included
  unsigned progress;  // threads of this rank; at least one CPU is kept for those to come
};

inline constexpr unsigned kMostProgress = 8;

struct Placement {
  unsigned main;
  unsigned progress[kMostProgress];
  unsigned progress_count;
  CpuSet claimed;  // those above, and their siblings where cores are whole

  CpuSet main_cpus() const { return only(main); }
  CpuSet progress_cpus() const;
};

struct Shortage {
  unsigned wanted, there;
  bool near;  // there: of those next to the GPU
};

// False: there are too few, `shortage` says how many; `out` is not to be used.
bool place_rank(const Machine& machine, const CpuSet& taken, const Demand& demand, Placement& out, Shortage& shortage);
// One more progress CPU beside those of `out`, whose claims are not among `taken`. False: none is left for this rank.
bool place_one_more(const Machine& machine, const CpuSet& taken, const Demand& demand, Placement& out);

}  // namespace hostprobe::probe
