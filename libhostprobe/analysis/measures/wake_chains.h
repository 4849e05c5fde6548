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

#include "model/timeline.h"

namespace hostprobe::analysis {

enum class LinkType : std::uint8_t {
  kRuns,       // it did work of its own
  kWakesLate,  // it had been posted, and did not run yet
  kGpu,        // it waited for the GPU
  kIo,         // for a file, a socket, another process
  kTimer,      // for time to pass
  kForeign,    // its waker is a thread that the trace does not know
  kUnexplained,
};
const char* link_name(LinkType type);

// Who ended a wait that the probe knows no waker of, by the kernel's own records (kernel_wakers.h).
struct KernelWaker {
  bool interrupt = false;
  std::string name;       // of the task, or of the interrupt; "" = not known
  std::uint32_t pid = 0;  // 0: an interrupt
  auto operator<=>(const KernelWaker&) const = default;
};

// Where chains end, and what the way there took.
struct ChainLink {
  LinkType type = LinkType::kUnexplained;
  std::vector<Role> roles;  // from the direct waker to the thread at the end
  std::string function;     // in which that thread was, where it was in one
  std::string library;      // that called it
  std::uint64_t count = 0;  // pieces of time
  double ms = 0;
  std::uint32_t pid = 0;         // the process of that thread, where it is another
  std::optional<int> rank = {};  // that one's
  std::optional<KernelWaker> waker = {};
};

// Of all waits of the main thread at one site, or of all in which it waited for the GPU.
struct WakeChain {
  std::uint64_t waits = 0;
  double dependency_ms = 0;      // until the posts; of waits whose post nobody saw, all
  double wake_ms = 0;            // from the posts to the returns
  std::vector<ChainLink> links;  // heaviest first; they sum to dependency_ms
};

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
