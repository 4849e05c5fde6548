// rank_waits.cpp: see rank_waits.h.
#include "rank_waits.h"

#include <algorithm>
#include <map>

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostReserved = 4096;  // of one collective, whatever size its calls claim
constexpr int kAtATime = 64;                 // calls of one thread, before the next one is read on

// One rank in one collective, on the axis of the job.
struct Arrival {
  std::uint32_t member = 0;
  const Track* track = nullptr;
  double called_ns = 0, returned_ns = 0;
  double begin_ns = 0, end_ns = 0;  // of its kernel
  bool on_gpu = false;
};

using Collective = std::pair<std::uint64_t, std::uint32_t>;  // communicator, running number
using Kernels = std::vector<std::shared_ptr<const CollectiveKernels>>;

class Finder {
 public:
  explicit Finder(std::vector<ChainMember>& members) : members_(members) {}

  void add(std::uint32_t member, const CollectiveCall& call) {
    const auto on_axis = [&](std::uint64_t ns) { return moment(member, ns); };
    Arrival one{member, call.track, on_axis(call.begin_ns), 0, 0, 0, call.gpu_end_ns != 0};
    one.returned_ns = one.called_ns + call.host_ns;
    if (one.on_gpu) one.begin_ns = on_axis(call.gpu_begin_ns), one.end_ns = on_axis(call.gpu_end_ns);
    const auto [open, is_new] = open_.try_emplace({call.communicator, call.sequence});
    std::vector<Arrival>& all = open->second;
    if (is_new) all.reserve(std::min<std::size_t>(static_cast<std::size_t>(call.size), kMostReserved));
    all.push_back(one);
    if (all.size() < static_cast<std::size_t>(call.size)) return;
    compare(all);
    open_.erase(open);
  }

 private:
  // On the axis of the job.
  double moment(std::uint32_t member, std::uint64_t monotonic_ns) const {
    const std::uint64_t first_ns = members_[member].chains->timeline().trace().clock.monotonic_ns_of(0);
    return members_[member].axis.of(static_cast<double>(static_cast<std::int64_t>(monotonic_ns - first_ns)));
  }

  void compare(const std::vector<Arrival>& all) {
    const bool on_gpu = std::all_of(all.begin(), all.end(), [](const Arrival& one) { return one.on_gpu; });
    const auto came_ns = [on_gpu](const Arrival& one) { return on_gpu ? one.begin_ns : one.called_ns; };
    const Arrival& last = *std::max_element(
        all.begin(), all.end(), [&](const Arrival& l, const Arrival& r) { return came_ns(l) < came_ns(r); });
    for (const Arrival& one : all) {
      const bool waited = on_gpu ? one.end_ns >= last.begin_ns : one.returned_ns >= last.called_ns;
      if (one.member == last.member || came_ns(one) >= came_ns(last) || !waited) continue;
      const TimeAxis& axis = members_[one.member].axis;
      const Window own = axis.back({came_ns(one), came_ns(last)});
      const Window until = axis.back({last.called_ns, one.end_ns});
      members_[one.member].waits.push_back({own.begin_ns, own.end_ns, until.end_ns, on_gpu ? nullptr : one.track,
                                            last.member, last.track, until.begin_ns});
    }
  }

  std::vector<ChainMember>& members_;
  std::map<Collective, std::vector<Arrival>> open_;
};

// The members side by side: few collectives are open at a time then.
void read_calls(const std::vector<ChainMember>& members, const Kernels& kernels, Finder& finder) {
  std::vector<std::pair<std::uint32_t, CollectiveSource>> sources;
  for (std::uint32_t i = 0; i < members.size(); ++i)
    for (CollectiveSource& source : collective_sources(members[i].chains->timeline(), kernels[i]))
      sources.emplace_back(i, std::move(source));
  CollectiveCall call;
  for (bool any = true; any;) {
    any = false;
    for (auto& [member, source] : sources) {
      for (int i = 0; i < kAtATime && source(call); ++i) {
        any = true;
        if (call.is_for_all() && !call.shares_kernel) finder.add(member, call);
      }
    }
  }
}

// Each instant is one wait's: the earlier one's.
void part(std::vector<RankWait>& waits) {
  std::stable_sort(waits.begin(), waits.end(),
                   [](const RankWait& l, const RankWait& r) { return l.begin_ns < r.begin_ns; });
  double covered_ns = -1e300;
  for (RankWait& one : waits) {
    one.begin_ns = std::max(one.begin_ns, covered_ns);
    covered_ns = std::max(covered_ns, one.end_ns);
  }
  std::erase_if(waits, [](const RankWait& one) { return one.end_ns <= one.begin_ns; });
}

}  // namespace

bool find_rank_waits(std::vector<ChainMember>& members, const Kernels& kernels, std::size_t most_arrivals) {
  std::uint64_t arrivals = 0;
  for (const ChainMember& member : members) arrivals += member.collectives;
  if (arrivals > most_arrivals) return false;
  Finder finder(members);
  read_calls(members, kernels, finder);
  for (ChainMember& member : members) part(member.waits);
  return true;
}

}  // namespace hostprobe::analysis
