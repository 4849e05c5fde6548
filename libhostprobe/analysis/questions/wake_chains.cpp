// wake_chains.cpp: see wake_chains.h.
#include "wake_chains.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "waits.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostWaits = 200'000;  // of a thread
constexpr std::size_t kMostLinks = 8;

// What a call waits for when nobody's post ended it.
LinkType awaited(const std::string& function) {
  static constexpr std::string_view kIo[] = {"poll",    "select", "epoll", "read", "recv", "accept",
                                             "connect", "wait",   "write", "send", "fsync"};
  if (function.find("sleep") != std::string::npos) return LinkType::kTimer;
  const std::string_view name = std::string_view(function).substr(function.find_first_not_of('_'));
  const bool io = std::any_of(std::begin(kIo), std::end(kIo), [name](std::string_view start) {
    return name.starts_with(start) || (name.starts_with("p") && name.substr(1).starts_with(start));
  });
  return io ? LinkType::kIo : LinkType::kUnexplained;
}

}  // namespace

const char* link_name(LinkType type) {
  switch (type) {
    case LinkType::kRuns:
      return "runs";
    case LinkType::kWakesLate:
      return "wakes_late";
    case LinkType::kGpu:
      return "gpu";
    case LinkType::kIo:
      return "io";
    case LinkType::kTimer:
      return "timer";
    case LinkType::kForeign:
      return "foreign";
    case LinkType::kUnexplained:
      return "unexplained";
  }
  return "unexplained";
}

WakeChains::OwnTime& WakeChains::of(const Event& event) {
  if (track_ == event.track) return *own_;
  track_ = event.track;
  own_ = &threads_[track_];
  in_hole_ = false;
  last_end_ns_ = -std::numeric_limits<double>::infinity();
  return *own_;
}

void WakeChains::add_hole(const Event& event) {
  of(event);
  if (!in_hole_) hole_begin_ns_ = last_end_ns_;
  in_hole_ = true;
}

// Calls of a thread come by begin time, the outer one of two first.
void WakeChains::add_wait(const Event& event) {
  OwnTime& own = of(event);
  if (own.blocked.size() >= kMostWaits) {
    own.full = true;
    return;
  }
  const double covered_ns = own.blocked.empty() ? -std::numeric_limits<double>::infinity() : own.blocked.back().end_ns;
  if (in_hole_ && event.begin_ns > covered_ns)
    own.blocked.push_back(
        {std::max(covered_ns, hole_begin_ns_), event.begin_ns, -1, nullptr, nullptr, 0, false, false});
  in_hole_ = false;
  last_end_ns_ = event.end_ns;
  if (event.begin_ns < covered_ns) return;
  const double post_ns = event.wake_ns < 0 ? -1 : event.end_ns - event.wake_ns;
  own.blocked.push_back(
      {event.begin_ns, event.end_ns, post_ns, event.waker, event.function, event.site, event.timed_out, event.on_file});
}

void WakeChains::merge(WakeChains&& other) {
  threads_.merge(other.threads_);  // threads are walked whole: none is in both
  track_ = nullptr;
}

void WakeChains::end_chain(LinkType type, const Blocked* blocked, double ns, const std::vector<const Track*>& way,
                           Ends& ends) {
  if (ns <= 0) return;
  End end{type, {}, blocked == nullptr ? nullptr : blocked->function, blocked == nullptr ? 0 : blocked->site};
  for (const Track* track : way) end.roles.push_back(track->role);
  end.roles.erase(end.roles.begin());  // the one that waits
  Sum& sum = ends[std::move(end)];
  ++sum.count;
  sum.ns += ns;
}

void WakeChains::explain_blocked(const Track& track, const Blocked& blocked, double from_ns, double to_ns,
                                 std::vector<const Track*>& way, Ends& ends) const {
  const auto all = [&](LinkType type) { end_chain(type, &blocked, to_ns - from_ns, way, ends); };
  if (blocked.function == nullptr) return all(LinkType::kUnexplained);
  if (blocked.function->is(kSynchronises)) return all(LinkType::kGpu);
  if (blocked.post_ns < 0) return all(blocked.timed_out ? LinkType::kTimer : awaited(blocked.function->name));
  const double post_ns = std::clamp(blocked.post_ns, from_ns, to_ns);
  end_chain(LinkType::kWakesLate, &blocked, to_ns - post_ns, way, ends);
  const bool seen = std::find(way.begin(), way.end(), blocked.waker) != way.end();
  if (blocked.waker == nullptr)
    end_chain(LinkType::kForeign, &blocked, post_ns - from_ns, way, ends);
  else if (seen || way.size() > kMostLinks)
    end_chain(LinkType::kUnexplained, &blocked, post_ns - from_ns, way, ends);
  else
    explain(*blocked.waker, from_ns, post_ns, way, ends);
}

void WakeChains::explain(const Track& track, double from_ns, double to_ns, std::vector<const Track*>& way,
                         Ends& ends) const {
  if (to_ns <= from_ns) return;
  way.push_back(&track);
  const auto own = threads_.find(&track);
  if (own == threads_.end()) {
    // None of its calls blocked.
    end_chain(LinkType::kRuns, nullptr, to_ns - from_ns, way, ends);
    way.pop_back();
    return;
  }
  const std::vector<Blocked>& all = own->second.blocked;
  auto at = std::partition_point(all.begin(), all.end(), [from_ns](const Blocked& b) { return b.end_ns <= from_ns; });
  for (; at != all.end() && at->begin_ns < to_ns; ++at) {
    end_chain(LinkType::kRuns, nullptr, at->begin_ns - from_ns, way, ends);
    const double begin_ns = std::max(from_ns, at->begin_ns);
    from_ns = std::min(at->end_ns, to_ns);
    explain_blocked(track, *at, begin_ns, from_ns, way, ends);
  }
  const bool unknown = own->second.full && at == all.end();
  end_chain(unknown ? LinkType::kUnexplained : LinkType::kRuns, nullptr, to_ns - from_ns, way, ends);
  way.pop_back();
}

std::string WakeChains::library_of(std::uint64_t site) const {
  const Module* module = site == 0 ? nullptr : timeline_->trace().module_at(site);
  return module == nullptr ? "unknown" : base_name(module->path);
}

WakeChainAnswer WakeChains::finish() {
  std::map<ChainSite, Ends> ends;
  WakeChainAnswer answer;
  for (const auto& [track, own] : threads_) {
    if (track->role != Role::kMain) continue;
    std::vector<const Track*> way = {track};
    for (const Blocked& wait : own.blocked) {
      if (wait.function == nullptr || !wait.function->is(kWaits)) continue;
      const ChainSite site{wait_site_function(wait.function->name, wait.on_file), library_of(wait.site), track->role};
      WakeChain& chain = answer[site];
      const double until_ns = wait.post_ns < 0 ? wait.end_ns : wait.post_ns;
      ++chain.waits;
      chain.dependency_ms += 1e-6 * (until_ns - wait.begin_ns);
      chain.wake_ms += 1e-6 * (wait.end_ns - until_ns);
      explain_blocked(*track, wait, wait.begin_ns, until_ns, way, ends[site]);
    }
  }
  for (auto& [site, own] : ends) {
    std::vector<ChainLink>& links = answer[site].links;
    for (const auto& [end, sum] : own) {
      ChainLink link{end.type, end.roles, "", "", sum.count, 1e-6 * sum.ns};
      if (end.function != nullptr) {
        link.function = wait_site_function(end.function->name, false);
        link.library = library_of(end.site);
      }
      links.push_back(std::move(link));
    }
    std::stable_sort(links.begin(), links.end(), [](const ChainLink& l, const ChainLink& r) { return l.ms > r.ms; });
  }
  threads_.clear();
  return answer;
}

}  // namespace hostprobe::analysis
