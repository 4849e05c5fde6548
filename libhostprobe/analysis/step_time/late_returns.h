// late_returns.h: whose a late return from a call is: of the lack of a CPU that made it late, or of what the thread was in the call for.
//
// Room 3. Without the call there were no way back from it, and with a CPU at hand it were not late: either what-if gains it. So the cause
// without which more would be gone takes it, the heaviest first. A cause that is no loss without them takes none.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "lost_parts.h"

namespace hostprobe::analysis {

// On a rank, by its number.
using ReturnOwners = std::set<std::pair<std::uint32_t, Cause>>;

class LateReturns {
 public:
  // The parts of each rank, in which late returns are still of the lack of a CPU.
  void add_step(double length_ns, const std::vector<std::vector<LostPart>>& ranks);
  // The causes that take the late returns from their calls.
  ReturnOwners owners() const;

 private:
  struct OfRank {
    double without_cpu_ns = 0;               // all of it
    std::map<Cause, double> own_ns;          // without the returns
    std::map<Cause, double> return_ns;       // late returns from calls of that cause
    std::map<Cause, std::uint64_t> returns;  // how often, in its own steps
  };
  bool is_loss(Cause cause) const;
  void add_owners(std::uint32_t member, const OfRank& rank, ReturnOwners& owners) const;

  double all_ns_ = 0;  // of all ranks
  std::uint64_t steps_ = 0;
  std::map<std::uint32_t, OfRank> ranks_;
};

}  // namespace hostprobe::analysis
