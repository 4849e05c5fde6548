// gains.h: by how much steps would be shorter without a cause.
//
// Room 3. The steps are run once more without its time (path_replay.h), where the replay repeats what was recorded. Without GPUs each
// rank is its own chain of work between waits for the others: then a step lasts as long as the longest of them.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "analysis/graph/job_graph.h"
#include "analysis/graph/path_replay.h"
#include "analysis/transfers/transfer_causes.h"
#include "answer/step_time.h"
#include "lost_parts.h"

namespace hostprobe::analysis {

class RepeatedSteps;

class Gains {
 public:
  explicit Gains(const JobGraph& job) : job_(job) {}

  // A step's length, and what each rank lost in it.
  void add_step(double length_ns, const std::vector<std::vector<LostPart>>& ranks);
  // What ranks lost in a step while nobody waited for it. Without its cause that is gone too; else it would be waited for next.
  void add_hidden(const std::vector<std::vector<LostPart>>& ranks);
  // What has turned out to be another cause: so much of what sits on a rank.
  void move(Cause from, Cause to, std::uint32_t member, double share);
  // Without GPUs.
  std::map<Cause, Gain> of_chains() const;
  // Of windows of many steps: what is made ahead for one, or waits until the next, counts.
  // `slow`: of ranks whose GPU is slow, how many times longer it takes.
  // Of those where the replay repeats the steps that tell of it.
  std::map<Cause, Gain> of_replays(const std::set<Cause>& causes, const std::vector<Window>& steps,
                                   const std::vector<PathEnds>& ends, const std::vector<double>& slow,
                                   const GainFactors& factors, const std::vector<WaitSlopes>& slopes);

  // Of a cause that was replayed: what would be gained beyond what it lost itself, and no more than it lost while nobody waited; else 0.
  double beyond_ns(Cause cause) const {
    const auto found = beyond_ns_.find(cause);
    return found == beyond_ns_.end() ? 0 : found->second;
  }

 private:
  struct Chain {
    double ns = 0;  // without waiting for others
    std::map<Cause, double> lost_ns;
  };
  void add_cut(std::uint32_t rank, const LostPart& part);
  double all_ns() const;
  double lost_in(std::size_t step, Cause cause) const;
  double lost_in_steps(Cause cause, const std::vector<std::size_t>& steps) const;  // by the mean rank
  // So much less is gained in these steps than is lost that it wants a reason.
  std::vector<std::size_t> all_steps() const;
  bool is_short(Cause cause, const std::vector<std::size_t>& steps, double gained_ns) const;
  bool has_moments(Cause cause) const;
  Gain of_sample(Cause cause, const std::vector<std::size_t>& steps, const std::vector<double>& gain_ns) const;
  // Of the steps that are run again, those that tell of it: where it lost something, or any.
  std::vector<std::size_t> blocks_of(Cause cause, const RepeatedSteps& repeated) const;
  Gain of_blocks(Cause cause, const std::vector<std::size_t>& blocks, RepeatedSteps& repeated);
  // Once, before the replays.
  void finish_cuts(const std::set<Cause>& causes, const std::vector<double>& slow, const GainFactors& factors);

  const JobGraph& job_;
  std::vector<double> length_ns_;                 // of each step
  using Place = std::pair<Cause, std::uint32_t>;  // a cause, and the rank on which it sits
  std::vector<std::map<Place, double>> lost_ns_;  // of each step, of all ranks, with what they waited for
  std::vector<std::vector<Chain>> chains_;        // of each step, of each rank
  std::map<Cause, ReplayCuts> cuts_;
  std::map<Cause, double> beyond_ns_, hidden_ns_;  // of the mean rank
};

// Worth a replay. How quick transfers could be is not always known.
std::set<Cause> heavy_causes(const StepTime& time, const GainFactors& factors);
// Without a cause a rank may run ahead, and hide other causes so: those have gains of their own. What slow GPUs and transfers cost is
// counted on the rank that has them, and not where others wait for it.
void bound_gains(StepTime& time);

}  // namespace hostprobe::analysis
