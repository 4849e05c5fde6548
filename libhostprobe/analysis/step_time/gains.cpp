// gains.cpp: see gains.h.
#include "gains.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/graph/step_sample.h"
#include "step_mean.h"

namespace hostprobe::analysis {
namespace {

constexpr double kMostDrift = 0.01;  // as for the critical path

// Of steps that last `all_ns` together, from those that were looked at. Longer steps lose more, so it is their share that is
// estimated (a ratio of means, with the error of its residuals). The same of what they lost, of which they may gain a multiple.
Gain gain_of(const std::vector<double>& gain_ns, const std::vector<double>& length_ns, double all_ns, double most = 1) {
  const double sum_ns = std::accumulate(length_ns.begin(), length_ns.end(), 0.0);
  if (sum_ns <= 0) return {};
  // It is no loss that the steps before the counted ones gain more.
  const double share = std::clamp(std::accumulate(gain_ns.begin(), gain_ns.end(), 0.0) / sum_ns, 0.0, most);
  std::vector<double> rest_ns;
  for (std::size_t i = 0; i < gain_ns.size(); ++i) rest_ns.push_back(gain_ns[i] - share * length_ns[i]);
  const double error = mean_of_steps(rest_ns).error_ns * static_cast<double>(rest_ns.size()) / sum_ns;
  return {all_ns * share, all_ns * std::max(0.0, share - error), all_ns * std::min(most, share + error)};
}

PathReplay::Factors unchanged() {
  PathReplay::Factors factors;
  factors.fill(1);
  return factors;
}

double sum_of(const std::vector<double>& ns) { return std::accumulate(ns.begin(), ns.end(), 0.0); }

// Of a GPU and of transfers no moments are lost that could be counted.
bool is_of_moments(Cause cause) {
  return cause != Cause::kSlowGpu && cause != Cause::kProxyDelay && cause != Cause::kCommBandwidth &&
         cause != Cause::kPoorOverlap;
}

// What stands behind a cause is what makes its gain larger by half of what is missing, or more, when it takes no time itself.
// `without` gives the gain then. Neither the GPU nor transfers: it is the host's other work.
template <typename Without>
GainLimit limit_of(double gained_ns, double lost_ns, Without without) {
  const double enough_ns = gained_ns + (lost_ns - gained_ns) / 2;
  PathReplay::Factors left = unchanged();
  left[static_cast<std::size_t>(PathClass::kGpuCompute)] = 0;
  if (without(left) >= enough_ns) return GainLimit::kGpu;
  left = unchanged();
  left[static_cast<std::size_t>(PathClass::kCommunication)] = 0;
  if (without(left) >= enough_ns) return GainLimit::kTransfers;
  left[static_cast<std::size_t>(PathClass::kGpuCompute)] = 0;
  return without(left) >= enough_ns ? GainLimit::kGpu : GainLimit::kHost;
}

}  // namespace

// Steps that are run again, with something left out or as they were.
class RepeatedSteps {
 public:
  RepeatedSteps(const JobGraph& job, const std::vector<WaitSlopes>& slopes, const std::vector<Window>& steps,
                const std::vector<PathEnds>& ends)
      : replay_(job, slopes), steps_(steps), ends_(ends), blocks_(step_blocks(steps)) {}

  const std::vector<StepBlock>& blocks() const { return blocks_; }
  // So many of them say enough of a cause.
  std::size_t enough() const {
    return std::max<std::size_t>(1, kMostReplayed * blocks_.size() / std::max<std::size_t>(1, steps_.size()));
  }
  // How long each counted step of the block takes.
  std::vector<double> counted_ns(std::size_t number, const ReplayCuts& cuts, const PathReplay::Factors& factors) {
    const StepBlock& block = blocks_[number];
    const auto first = ends_.begin() + static_cast<std::ptrdiff_t>(block.first);
    replay_.enter(steps_[block.first].begin_ns,
                  std::vector<PathEnds>(first, first + static_cast<std::ptrdiff_t>(block.count)));
    replay_.run(factors, cuts);
    std::vector<double> ns;
    for (std::size_t i = block.warm; i < block.count; ++i)
      ns.push_back(replay_.ended_after_ns(i) - (i == 0 ? 0 : replay_.ended_after_ns(i - 1)));
    return ns;
  }
  const std::vector<double>& whole_ns(std::size_t number) {
    const auto [at, is_new] = whole_.try_emplace(number);
    if (is_new) at->second = counted_ns(number, {}, unchanged());
    return at->second;
  }
  // When they are run again as they were.
  bool are_as_recorded(const std::vector<std::size_t>& some) {
    double recorded_ns = 0, repeated_ns = 0;
    for (const std::size_t number : some) {
      const StepBlock& block = blocks_[number];
      const double begin_ns =
          block.warm == 0 ? steps_[block.first].begin_ns : steps_[block.first + block.warm - 1].end_ns;
      recorded_ns += steps_[block.first + block.count - 1].end_ns - begin_ns;
      repeated_ns += sum_of(whole_ns(number));
    }
    return std::abs(repeated_ns - recorded_ns) <= kMostDrift * recorded_ns;
  }

 private:
  PathReplay replay_;
  const std::vector<Window>& steps_;
  const std::vector<PathEnds>& ends_;
  std::vector<StepBlock> blocks_;
  std::map<std::size_t, std::vector<double>> whole_;
};

double Gains::all_ns() const { return std::accumulate(length_ns_.begin(), length_ns_.end(), 0.0); }

void Gains::add_step(double length_ns, const std::vector<std::vector<LostPart>>& ranks) {
  length_ns_.push_back(length_ns);
  std::vector<Chain>& chains = chains_.emplace_back(ranks.size());
  std::map<Place, double>& lost_ns = lost_ns_.emplace_back();
  for (std::uint32_t i = 0; i < ranks.size(); ++i) {
    chains[i].ns = length_ns;
    for (const LostPart& part : ranks[i]) {
      lost_ns[{part.cause, part.member}] += part.ns;
      // All others have waited for it.
      if (part.cause == Cause::kUnevenWork)
        chains[part.member].lost_ns[part.cause] += part.ns / static_cast<double>(ranks.size() - 1);
      if (part.waits || part.cause == Cause::kTransfer) {
        chains[i].ns -= part.ns;
        continue;
      }
      chains[i].lost_ns[part.cause] += part.ns;
      add_cut(i, part);
    }
  }
}

void Gains::add_hidden(const std::vector<std::vector<LostPart>>& ranks) {
  for (std::uint32_t i = 0; i < ranks.size(); ++i)
    for (const LostPart& part : ranks[i]) {
      add_cut(i, part);
      hidden_ns_[part.cause] += part.ns / static_cast<double>(ranks.size());
    }
}

void Gains::add_cut(std::uint32_t rank, const LostPart& part) {
  // A wait that is left out is overlapped, and what follows it is done all the same.
  if (part.cause == Cause::kSyncCalls) return;
  const HostCall* call = part.spot.call;
  if (part.cause == Cause::kDataloaderWait && call != nullptr && call->type == HostCallType::kWait) {
    cuts_[part.cause].answered.insert(call);
    return;
  }
  // Of a thread that waits it is the time of the one that it waits for: then its wait gets shorter by itself.
  const HostThread* delayed = part.delayed != nullptr       ? part.delayed
                              : part.spot.holder != nullptr ? part.spot.holder
                                                            : part.spot.thread;
  if (delayed == nullptr && part.cause != Cause::kProcessStopped) return;
  const auto thread = delayed == nullptr || part.on_gpu
                          ? kGpuCuts
                          : static_cast<std::int32_t>(delayed - job_.parts[rank].host.threads.data());
  cuts_[part.cause].add(rank, thread, part.own_window(), part.ns);
}

void Gains::move(Cause from, Cause to, std::uint32_t member, double share) {
  const auto move_in = [share](auto& lost_ns, const auto& old_key, const auto& new_key) {
    const auto found = lost_ns.find(old_key);
    if (found == lost_ns.end()) return;
    lost_ns[new_key] += share * found->second;
    lost_ns.erase(found);
  };
  for (std::map<Place, double>& lost_ns : lost_ns_) move_in(lost_ns, Place{from, member}, Place{to, member});
  for (std::vector<Chain>& chains : chains_) move_in(chains[member].lost_ns, from, to);
  cuts_[to].take(cuts_[from], member, share);
}

std::map<Cause, Gain> Gains::of_chains() const {
  std::map<Cause, std::vector<double>> step_ns;
  for (std::size_t step = 0; step < chains_.size(); ++step) {
    double longest_ns = 0;
    for (const Chain& chain : chains_[step]) longest_ns = std::max(longest_ns, chain.ns);
    for (std::size_t cause = 0; cause < kCauses; ++cause) {
      double rest_ns = 0;
      for (const Chain& chain : chains_[step]) {
        const auto lost = chain.lost_ns.find(static_cast<Cause>(cause));
        rest_ns = std::max(rest_ns, chain.ns - (lost == chain.lost_ns.end() ? 0 : lost->second));
      }
      if (rest_ns < longest_ns) {
        step_ns[static_cast<Cause>(cause)].resize(chains_.size());
        step_ns[static_cast<Cause>(cause)][step] = longest_ns - rest_ns;
      }
    }
  }
  std::map<Cause, Gain> gains;
  const std::vector<std::size_t> all = all_steps();
  for (const auto& [cause, ns] : step_ns) {
    gains[cause] = gain_of(ns, length_ns_, all_ns());
    if (is_short(cause, all, sum_of(ns))) gains[cause].limit = GainLimit::kHost;  // of another rank
  }
  return gains;
}

std::vector<std::size_t> Gains::all_steps() const {
  std::vector<std::size_t> all(chains_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

double Gains::lost_in(std::size_t step, Cause cause) const {
  double ns = 0;
  for (auto at = lost_ns_[step].lower_bound({cause, 0}); at != lost_ns_[step].end() && at->first.first == cause; ++at)
    ns += at->second;
  return ns;
}

double Gains::lost_in_steps(Cause cause, const std::vector<std::size_t>& steps) const {
  double ns = 0;
  for (const std::size_t step : steps) ns += lost_in(step, cause);
  return ns / static_cast<double>(chains_.front().size());
}

bool Gains::is_short(Cause cause, const std::vector<std::size_t>& steps, double gained_ns) const {
  double length_ns = 0;
  for (const std::size_t step : steps) length_ns += length_ns_[step];
  return is_clearly_less(gained_ns, lost_in_steps(cause, steps), length_ns);
}

// What it takes of transfers is counted as their share.
bool Gains::has_moments(Cause cause) const {
  const auto cuts = cuts_.find(cause);
  return is_of_moments(cause) && (cuts == cuts_.end() || cuts->second.transfer_factors.empty());
}

// What is rare is in few of the steps that are run again. How much of it is lost is known of all, so only the gain from each lost
// moment is taken from those few.
Gain Gains::of_sample(Cause cause, const std::vector<std::size_t>& steps, const std::vector<double>& gain_ns) const {
  double lost_in_all_ns = 0;
  for (std::size_t step = 0; step < lost_ns_.size(); ++step) lost_in_all_ns += lost_in(step, cause);
  std::vector<double> sample_ns, length_ns;
  for (const std::size_t step : steps) sample_ns.push_back(lost_in(step, cause)), length_ns.push_back(length_ns_[step]);
  if (has_moments(cause) && std::accumulate(sample_ns.begin(), sample_ns.end(), 0.0) > 0)
    return gain_of(gain_ns, sample_ns, lost_in_all_ns, all_ns() / lost_in_all_ns);
  return gain_of(gain_ns, length_ns, all_ns());
}

void Gains::finish_cuts(const std::set<Cause>& causes, const std::vector<double>& slow, const GainFactors& factors) {
  for (const Cause cause : causes) cuts_[cause].sort();
  cuts_[Cause::kProxyDelay].transfer_factor = factors.late_progress;
  cuts_[Cause::kCommBandwidth].transfer_factors = factors.slow_transfers;
  cuts_[Cause::kPoorOverlap].transfer_factors = factors.poor_overlap;
  for (const Cause cause : {Cause::kCpuContention, Cause::kCpuThrottle})
    cuts_[cause].transfer_factors = factors.late_transfers;
  cuts_[Cause::kSyncCalls].without_syncs = true;
  cuts_[Cause::kPageableCopy].from_pinned = true;
  for (std::uint32_t i = 0; i < slow.size(); ++i) cuts_[Cause::kSlowGpu].gpu_factors[i] = 1 / slow[i];
}

// Each moment of it is as likely to be looked at as any other.
std::vector<std::size_t> Gains::blocks_of(Cause cause, const RepeatedSteps& repeated) const {
  const std::vector<StepBlock>& blocks = repeated.blocks();
  std::vector<double> lost_ns;  // up to the end of each
  double sum_ns = 0;
  for (const StepBlock& block : blocks) {
    for (std::size_t i = block.warm; i < block.count; ++i) sum_ns += lost_in(block.first + i, cause);
    lost_ns.push_back(sum_ns);
  }
  if (!has_moments(cause) || sum_ns <= 0) return spread_over(blocks.size(), repeated.enough());
  std::set<std::size_t> some;
  const auto parts = static_cast<double>(repeated.enough());
  for (double part = 0.5; part < parts; ++part) {
    const auto found = std::lower_bound(lost_ns.begin(), lost_ns.end(), part / parts * sum_ns);
    some.insert(static_cast<std::size_t>(found - lost_ns.begin()));
  }
  return {some.begin(), some.end()};
}

Gain Gains::of_blocks(Cause cause, const std::vector<std::size_t>& blocks, RepeatedSteps& repeated) {
  std::vector<std::size_t> steps;
  std::vector<double> gain_ns;
  for (const std::size_t number : blocks) {
    const std::vector<double>& whole_ns = repeated.whole_ns(number);
    const std::vector<double> without_ns = repeated.counted_ns(number, cuts_.at(cause), unchanged());
    const StepBlock& block = repeated.blocks()[number];
    for (std::size_t i = 0; i < whole_ns.size(); ++i) {
      steps.push_back(block.first + block.warm + i);
      gain_ns.push_back(whole_ns[i] - without_ns[i]);
    }
  }
  Gain gain = of_sample(cause, steps, gain_ns);
  const double gained_ns = sum_of(gain_ns), lost_ns = lost_in_steps(cause, steps);
  if (const double all_ns = lost_in_steps(cause, all_steps()); lost_ns > 0)
    beyond_ns_[cause] = std::clamp((gained_ns / lost_ns - 1) * all_ns, 0.0, hidden_ns_[cause]);
  if (!is_short(cause, steps, gained_ns) && !is_short(cause, all_steps(), gain.ns)) return gain;
  gain.limit = limit_of(gained_ns, lost_ns, [&](const PathReplay::Factors& left) {
    double ns = 0;
    for (const std::size_t number : blocks)
      ns += sum_of(repeated.counted_ns(number, {}, left)) - sum_of(repeated.counted_ns(number, cuts_.at(cause), left));
    return ns;
  });
  return gain;
}

std::map<Cause, Gain> Gains::of_replays(const std::set<Cause>& causes, const std::vector<Window>& steps,
                                        const std::vector<PathEnds>& ends, const std::vector<double>& slow,
                                        const GainFactors& factors, const std::vector<WaitSlopes>& slopes) {
  finish_cuts(causes, slow, factors);
  RepeatedSteps repeated(job_, slopes, steps, ends);
  std::map<Cause, Gain> gains;
  for (const Cause cause : causes) {
    if (const auto blocks = blocks_of(cause, repeated); repeated.are_as_recorded(blocks))
      gains[cause] = of_blocks(cause, blocks, repeated);
  }
  return gains;
}

std::set<Cause> heavy_causes(const StepTime& time, const GainFactors& factors) {
  constexpr double kLeast = 0.01;  // of the steps
  std::map<Cause, double> ns;
  for (const LostTime& lost : time.lost) ns[lost.cause] += lost.ns;
  std::set<Cause> causes;
  for (const auto& [cause, all_ns] : ns)
    if (cause != Cause::kGpuBound && cause != Cause::kTransfer && all_ns >= kLeast * time.length_ns)
      causes.insert(cause);
  if (factors.slow_transfers.empty()) causes.erase(Cause::kCommBandwidth);
  return causes;
}

void bound_gains(StepTime& time) {
  std::map<Cause, double> lost_ns;
  for (const LostTime& lost : time.lost) lost_ns[lost.cause] += lost.ns;
  for (auto& [cause, gain] : time.gains)
    if (cause != Cause::kSlowGpu && cause != Cause::kProxyDelay && cause != Cause::kCommBandwidth)
      for (double* ns : {&gain.ns, &gain.low_ns, &gain.high_ns}) *ns = std::min(*ns, lost_ns[cause]);
}

}  // namespace hostprobe::analysis
