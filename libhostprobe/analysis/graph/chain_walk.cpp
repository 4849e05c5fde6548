// chain_walk.cpp: see chain_walk.h.
#include "chain_walk.h"

#include <algorithm>

#include "analysis/measures/waits.h"
#include "answer/process.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostLinks = 8;

LinkType awaited_by(HookRole role) {
  switch (role) {
    case HookRole::kSleep:
      return LinkType::kTimer;
    case HookRole::kPoll:
    case HookRole::kRead:
    case HookRole::kWrite:
    case HookRole::kFileSync:
    case HookRole::kChild:
      return LinkType::kIo;
    default:
      return LinkType::kUnexplained;
  }
}

struct End {
  LinkType type;
  std::uint32_t member;
  std::vector<Role> roles;
  const Function* function;
  std::uint64_t site;
  std::uint32_t kernel_waker;
  auto operator<=>(const End&) const = default;
};
struct Sum {
  std::uint64_t count = 0;
  double ns = 0;
};
using Ends = std::map<End, Sum>;

class ChainWalk {
 public:
  ChainWalk(const std::vector<ChainMember>& members, std::uint32_t first) : members_(members), first_(first) {}

  WakeChainAnswer run() {
    std::map<ChainSite, Ends> ends;
    Ends synchronises;
    WakeChainAnswer answer;
    std::map<std::tuple<const Function*, std::uint64_t, bool>, std::pair<Ends*, WakeChain*>> sites;
    const WakeChains& own = *members_[first_].chains;
    for (const auto& [track, thread] : own.threads()) {
      if (track->role != Role::kMain) continue;
      way_ = {track};
      for (const BlockedCall& call : thread.calls) {
        if (call.function == nullptr) continue;
        if (call.function->is(kWaits)) {
          // Names are worked out once for each place, not for each wait.
          const auto [known, is_new] = sites.try_emplace({call.function, call.site, call.on_file});
          if (is_new) {
            const ChainSite site{wait_site_function(call.function->name, call.on_file), own.library_of(call.site),
                                 track->role};
            known->second = {&ends[site], &answer.waits[site]};
          }
          add(*track, call, *known->second.first, *known->second.second);
        } else if (call.function->is(kSynchronises)) {
          add(*track, call, synchronises, answer.synchronises);
        }
      }
    }
    for (const auto& [site, own_ends] : ends) tell_links(own_ends, answer.waits[site]);
    tell_links(synchronises, answer.synchronises);
    return answer;
  }

 private:
  void add(const Track& track, const BlockedCall& call, Ends& ends, WakeChain& chain) {
    const double until_ns = call.post_ns < 0 ? call.end_ns : call.post_ns;
    ++chain.waits;
    chain.dependency_ms += 1e-6 * (until_ns - call.begin_ns);
    chain.wake_ms += 1e-6 * (call.end_ns - until_ns);
    ends_ = &ends;
    explain_call(first_, track, call, call.begin_ns, until_ns);
  }

  void tell_links(const Ends& ends, WakeChain& chain) const {
    for (const auto& [end, sum] : ends) {
      ChainLink link{end.type, end.roles, "", "", sum.count, 1e-6 * sum.ns};
      if (end.function != nullptr) {
        link.function = wait_site_function(end.function->name, false);
        link.library = members_[end.member].chains->library_of(end.site);
      }
      if (end.member != first_) {
        link.pid = members_[end.member].pid;
        link.rank = members_[end.member].rank;
      }
      if (end.kernel_waker != 0) link.waker = members_[end.member].chains->kernel_wakers()[end.kernel_waker - 1];
      chain.links.push_back(std::move(link));
    }
    std::stable_sort(chain.links.begin(), chain.links.end(),
                     [](const ChainLink& l, const ChainLink& r) { return l.ms > r.ms; });
  }

  void end_chain(LinkType type, std::uint32_t member, const BlockedCall* call, double ns) {
    if (ns <= 0) return;
    End end{type, member, {}, call == nullptr ? nullptr : call->function, call == nullptr ? 0 : call->site, 0};
    if (call != nullptr && type != LinkType::kGpu && type != LinkType::kWakesLate)
      end.kernel_waker = call->kernel_waker;
    for (const Track* track : way_) end.roles.push_back(track->role);
    end.roles.erase(end.roles.begin());  // the one that waits
    Sum& sum = (*ends_)[std::move(end)];
    ++sum.count;
    sum.ns += ns;
  }

  bool may_follow(const Track* track) const {
    return std::find(way_.begin(), way_.end(), track) == way_.end() && way_.size() <= kMostLinks;
  }

  // The parts in which it waited for another rank, and those between.
  void explain_call(std::uint32_t member, const Track& track, const BlockedCall& call, double from_ns, double to_ns) {
    const std::vector<RankWait>& waits = members_[member].waits;
    auto wait = std::partition_point(waits.begin(), waits.end(),
                                     [from_ns](const RankWait& one) { return one.end_ns <= from_ns; });
    for (; call.function != nullptr && wait != waits.end() && wait->begin_ns < to_ns; ++wait) {
      const bool for_gpu = wait->inside == nullptr && call.function->is(kSynchronises);
      if (wait->inside != &track && !(for_gpu && call.end_ns + kClockErrorNs >= wait->until_ns)) continue;
      const double begin_ns = std::max(from_ns, wait->begin_ns), end_ns = std::min(to_ns, wait->end_ns);
      explain_here(member, call, from_ns, begin_ns);
      cross_over(member, *wait, begin_ns, end_ns);
      from_ns = end_ns;
    }
    explain_here(member, call, from_ns, to_ns);
  }

  void explain_here(std::uint32_t member, const BlockedCall& call, double from_ns, double to_ns) {
    if (to_ns <= from_ns) return;
    const auto all = [&](LinkType type) { end_chain(type, member, &call, to_ns - from_ns); };
    if (call.function == nullptr) return all(LinkType::kUnexplained);
    if (call.function->is(kSynchronises)) return all(LinkType::kGpu);
    if (call.post_ns < 0) return all(call.timed_out ? LinkType::kTimer : awaited(member, call));
    const double post_ns = std::clamp(call.post_ns, from_ns, to_ns);
    end_chain(LinkType::kWakesLate, member, &call, to_ns - post_ns);
    if (call.waker == nullptr)
      end_chain(LinkType::kForeign, member, &call, post_ns - from_ns);
    else if (!may_follow(call.waker))
      end_chain(LinkType::kUnexplained, member, &call, post_ns - from_ns);
    else
      explain_thread(member, *call.waker, from_ns, post_ns);
  }

  // What a call waits for when nobody's post ended it.
  LinkType awaited(std::uint32_t member, const BlockedCall& call) const {
    const LinkType type = awaited_by(call.function->role);
    const bool task =
        call.kernel_waker != 0 && !members_[member].chains->kernel_wakers()[call.kernel_waker - 1].interrupt;
    return task && type == LinkType::kUnexplained ? LinkType::kForeign : type;
  }

  // What the thread of the rank that came last did until it made its call; then its GPU was not there yet.
  void cross_over(std::uint32_t member, const RankWait& wait, double from_ns, double to_ns) {
    if (!may_follow(wait.track)) return end_chain(LinkType::kUnexplained, member, nullptr, to_ns - from_ns);
    const double called_ns = std::clamp(wait.called_ns, from_ns, to_ns);
    const auto there_ns = [&](double ns) {
      return members_[wait.member].axis.back({members_[member].axis.of(ns), 0}).begin_ns;
    };
    explain_thread(wait.member, *wait.track, there_ns(from_ns), there_ns(called_ns));
    way_.push_back(wait.track);
    end_chain(LinkType::kGpu, wait.member, nullptr, to_ns - called_ns);
    way_.pop_back();
  }

  // What the thread did in that time.
  void explain_thread(std::uint32_t member, const Track& track, double from_ns, double to_ns) {
    if (to_ns <= from_ns) return;
    way_.push_back(&track);
    const auto own = members_[member].chains->threads().find(&track);
    if (own == members_[member].chains->threads().end()) {
      // None of its calls blocked.
      end_chain(LinkType::kRuns, member, nullptr, to_ns - from_ns);
      way_.pop_back();
      return;
    }
    const std::vector<BlockedCall>& all = own->second.calls;
    auto at =
        std::partition_point(all.begin(), all.end(), [from_ns](const BlockedCall& b) { return b.end_ns <= from_ns; });
    for (; at != all.end() && at->begin_ns < to_ns; ++at) {
      end_chain(LinkType::kRuns, member, nullptr, at->begin_ns - from_ns);
      const double begin_ns = std::max(from_ns, at->begin_ns);
      from_ns = std::min(at->end_ns, to_ns);
      explain_call(member, track, *at, begin_ns, from_ns);
    }
    const bool unknown = own->second.full && at == all.end();
    end_chain(unknown ? LinkType::kUnexplained : LinkType::kRuns, member, nullptr, to_ns - from_ns);
    way_.pop_back();
  }

  const std::vector<ChainMember>& members_;
  const std::uint32_t first_;
  std::vector<const Track*> way_;
  Ends* ends_ = nullptr;
};

}  // namespace

WakeChainAnswer follow_chains(const std::vector<ChainMember>& members, std::uint32_t member) {
  return ChainWalk(members, member).run();
}

void set_chains(WakeChainAnswer chains, ProcessAnswer& answer) {
  for (WaitSite& site : answer.waits)
    if (const auto chain = chains.waits.find({site.function, site.library, site.role}); chain != chains.waits.end())
      site.chain = std::move(chain->second);
  answer.sync_chain = std::move(chains.synchronises);
}

}  // namespace hostprobe::analysis
