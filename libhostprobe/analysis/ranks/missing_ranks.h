// missing_ranks.h: in a job that runs or was killed: which ranks have not entered a collective that others wait in.
//
// Room 3. NCCL's calls return at once, so a hang shows nowhere in the calls themselves: it shows as a rank whose running
// number on a communicator stays behind the others'.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/process.h"

namespace hostprobe::analysis {

struct MissingRank {
  int rank = -1;  // on the communicator
  std::optional<int> job_rank = {};
  std::uint32_t sequence = 0;                    // of its last collective there; 0 = none was seen
  bool has_main = false;                         // there is a trace of its main thread
  std::optional<OpenWaitAnswer> open_wait = {};  // that thread's; nothing: it runs
};

struct StuckCollective {
  std::string communicator;  // hexadecimal
  std::uint32_t ranks = 0;
  std::string operation;
  std::uint32_t sequence = 0;
  std::uint32_t arrived = 0;
  double since_ms = 0;  // the first rank is in it for so long
  std::vector<MissingRank> missing;
};

// Longest first. Only what has lasted for a second: in a job that was killed in the middle of a step some rank is always
// behind.
std::vector<StuckCollective> find_missing_ranks(const std::vector<ProcessAnswer>& processes);

}  // namespace hostprobe::analysis
