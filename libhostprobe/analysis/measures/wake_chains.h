// wake_chains.h: in which blocking calls each thread of a process was, and who ended them.
//
// Room 3. chain_walk.h follows them: who made the main thread wait, and what that thread did meanwhile, down to the first link.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "answer/wait.h"
#include "model/timeline.h"

namespace hostprobe::analysis {

using ChainSite = std::tuple<std::string, std::string, Role>;  // function, library, role; as WaitSite
struct WakeChainAnswer {
  std::map<ChainSite, WakeChain> waits;
  WakeChain synchronises;
};

// One thread in one blocking call that lies in no other, or where nobody knows what it did.
struct BlockedCall {
  double begin_ns = 0, end_ns = 0;
  double post_ns = -1;  // < 0: nobody saw it
  const Track* waker = nullptr;
  const Function* function = nullptr;  // nullptr: records are missing
  std::uint64_t site = 0;
  bool timed_out = false, on_file = false;
  std::uint32_t kernel_waker = 0;  // its place in WakeChains::kernel_wakers(), from 1; 0 = none
};

struct BlockedThread {
  std::vector<BlockedCall> calls;  // by begin
  bool full = false;               // what comes later was not held
};

class WakeChains {
 public:
  explicit WakeChains(const Timeline& timeline) : timeline_(&timeline) {}
  void add(const Event& event) {
    if (event.type == EventType::kLost || event.type == EventType::kCounted)
      add_hole(event);
    else if (event.type == EventType::kCall && event.is(kBlocks) && !event.at_once)
      add_wait(event);
    else if (event.type == EventType::kCall)
      last_end_ns_ = event.end_ns;
  }
  void add(const LaunchRun& run) { last_end_ns_ = run.launches.back().end_ns; }
  void merge(WakeChains&& other);
  // Of a call whose waker nobody else knows. Where it is a thread of this process, that one posted then.
  void set_waker(const Track* track, std::size_t call, const KernelWaker& waker);
  void set_waker(const Track* track, std::size_t call, const Track* waker, double post_ns);
  // No more calls come: the room for them is given back.
  void finish() {
    for (auto& [track, own] : threads_) own.calls.shrink_to_fit();
  }

  const Timeline& timeline() const { return *timeline_; }
  const std::map<const Track*, BlockedThread>& threads() const { return threads_; }
  const std::vector<KernelWaker>& kernel_wakers() const { return wakers_; }
  std::string library_of(std::uint64_t site) const;

 private:
  void add_hole(const Event& event);
  void add_wait(const Event& event);
  BlockedThread& of(const Event& event);

  const Timeline* timeline_;
  std::map<const Track*, BlockedThread> threads_;
  std::vector<KernelWaker> wakers_;
  std::map<KernelWaker, std::uint32_t> waker_numbers_;
  const Track* track_ = nullptr;
  BlockedThread* own_ = nullptr;
  double last_end_ns_ = 0;
  double hole_begin_ns_ = 0;
  bool in_hole_ = false;  // records are missing since then
};

}  // namespace hostprobe::analysis
