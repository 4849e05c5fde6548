// wake_chains.cpp: see wake_chains.h.
#include "wake_chains.h"

#include <algorithm>
#include <limits>

#include "answer/file_name.h"
#include "waits.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostWaits = 200'000;  // of a thread

}  // namespace

BlockedThread& WakeChains::of(const Event& event) {
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
  BlockedThread& own = of(event);
  if (own.calls.size() >= kMostWaits) {
    own.full = true;
    return;
  }
  const double covered_ns = own.calls.empty() ? -std::numeric_limits<double>::infinity() : own.calls.back().end_ns;
  if (in_hole_ && event.begin_ns > covered_ns)
    own.calls.push_back({std::max(covered_ns, hole_begin_ns_), event.begin_ns, -1, nullptr, nullptr, 0, false, false});
  in_hole_ = false;
  last_end_ns_ = event.end_ns;
  if (event.begin_ns < covered_ns) return;
  const double post_ns = event.wake_ns < 0 ? -1 : event.end_ns - event.wake_ns;
  own.calls.push_back(
      {event.begin_ns, event.end_ns, post_ns, event.waker, event.function, event.site, event.timed_out, event.on_file});
}

void WakeChains::merge(WakeChains&& other) {
  threads_.merge(other.threads_);  // threads are walked whole: none is in both
  track_ = nullptr;
}

void WakeChains::set_waker(const Track* track, std::size_t call, const KernelWaker& waker) {
  const auto [known, is_new] = waker_numbers_.try_emplace(waker, static_cast<std::uint32_t>(wakers_.size() + 1));
  if (is_new) wakers_.push_back(waker);
  threads_.at(track).calls.at(call).kernel_waker = known->second;
}

void WakeChains::set_waker(const Track* track, std::size_t call, const Track* waker, double post_ns) {
  BlockedCall& own = threads_.at(track).calls.at(call);
  own.waker = waker;
  own.post_ns = std::clamp(post_ns, own.begin_ns, own.end_ns);
}

std::string WakeChains::library_of(std::uint64_t site) const {
  const Module* module = site == 0 ? nullptr : timeline_->trace().module_at(site);
  return module == nullptr ? "unknown" : base_name(module->path);
}

}  // namespace hostprobe::analysis
