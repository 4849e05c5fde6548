// kernel.h: who had the CPU while threads of a process could have run, as the kernel recorded it.
//
// The waist (answer/). analysis/ranks/neighbours.h fills it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hostprobe::analysis {

struct Neighbour {
  std::string comm;
  std::uint32_t pid = 0;
  double took_ms = 0;
  double supposed_ms = 0;  // of that, by halves
};

struct IrqShare {
  std::string name;  // "" = not known
  std::uint32_t number = 0;
  bool soft = false;
  std::uint64_t count = 0;
  double ms = 0;  // without others that came in between
};

// Of one process.
struct KernelShare {
  std::vector<Neighbour> neighbours;   // heaviest first
  double own_ms = 0;                   // other threads of the same process had the CPU
  double waited_ms = 0;                // its threads could have run and did not, all together
  double unknown_ms = 0;               // of that, nobody remembers who had the CPU
  std::optional<double> preempted_ms;  // of `waited_ms`, they had been taken off a CPU; the rest was after a wake
  std::vector<IrqShare> irqs;          // heaviest first
  std::uint64_t hard = 0, soft = 0;
  double hard_ms = 0, soft_ms = 0;
  std::uint64_t switches = 0;
  double seen_ms = 0;  // as long as it lived and the kernel's records reach
};

// One file.
struct KernelFile {
  std::string path, host, command;
  std::uint64_t rows = 0;  // of totals: switches that are in them
  std::uint64_t lost = 0;
  bool has_totals = false;  // no history, but what the kernel added up itself
  double cost_ms = 0;       // of totals: the CPU time that adding up took
  std::uint32_t cpus = 0;
  std::uint64_t begin_ns = 0;  // CLOCK_MONOTONIC, this and the next
  std::uint64_t end_ns = 0;
  bool used = true;  // no other one tells of the same moments
};

struct KernelAnswer {
  std::vector<KernelFile> files;
  std::map<std::string, KernelShare> shares;  // by the trace of the process

  const KernelShare* of(const std::string& trace_path) const {
    const auto found = shares.find(trace_path);
    return found == shares.end() ? nullptr : &found->second;
  }
};

}  // namespace hostprobe::analysis
