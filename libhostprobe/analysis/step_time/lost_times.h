// lost_times.h: the pieces of lost time, added up by cause and rank, with the site that most of each lies at.
//
// Room 3.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "answer/step_time.h"
#include "longest_pieces.h"
#include "lost_parts.h"
#include "step_time_member.h"
#include "trace/symbols.h"

namespace hostprobe::analysis {

class LostTimes {
 public:
  LostTimes(const std::vector<StepTimeMember>& members, Symbols& symbols) : members_(members), symbols_(symbols) {}

  // Of all ranks.
  void add_step(const std::vector<std::vector<LostPart>>& ranks);
  std::vector<LostTime> finish();

 private:
  struct Site {
    double ns = 0;
    double longest_ns = 0;
    bool has_stack = false;
    Spot longest;
  };
  using SiteKey = std::tuple<const Function*, std::uint64_t, const HostThread*, const HostThread*>;
  struct Sum {
    double ns = 0;
    std::uint64_t pieces = 0;
    std::map<SiteKey, Site> sites;
    std::vector<double> step_ns, own_step_ns;
  };
  void add(const LostPart& part, std::uint32_t rank);
  LostSite site_of(std::uint32_t member, const Spot& spot) const;
  // Where a person would look for a call; "": nothing is known of it.
  std::string place_of(const Trace& trace, const HostCall& call) const;
  LostPiece located(std::uint32_t member, const LongestPiece& piece) const;

  const std::vector<StepTimeMember>& members_;
  Symbols& symbols_;
  std::size_t steps_ = 0;
  std::map<std::pair<Cause, std::uint32_t>, Sum> sums_;
  LongestPieces longest_;
};

}  // namespace hostprobe::analysis
