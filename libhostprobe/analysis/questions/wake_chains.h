// wake_chains.h: who made the main thread wait, and what that thread did meanwhile, down to the first link.
//
// Room 3. A wait is the time until somebody's post, and the wake latency after it. The first part is laid over what the
// waker did in it: it ran, or it waited itself, which goes on to its own waker. Each instant is split, never copied, so the
// links of a site sum to its time before the posts. A thread seen before, a lost record, a post that nobody recorded end a
// chain: unexplained.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "analysis/timeline/timeline.h"

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

// Where chains end, and what the way there took.
struct ChainLink {
  LinkType type = LinkType::kUnexplained;
  std::vector<Role> roles;  // from the direct waker to the thread at the end
  std::string function;     // in which that thread was, where it was in one
  std::string library;      // that called it
  std::uint64_t count = 0;  // pieces of time
  double ms = 0;
};

// Of all waits of the main thread at one site.
struct WakeChain {
  std::uint64_t waits = 0;
  double dependency_ms = 0;      // until the posts; of waits whose post nobody saw, all
  double wake_ms = 0;            // from the posts to the returns
  std::vector<ChainLink> links;  // heaviest first; they sum to dependency_ms
};

using ChainSite = std::tuple<std::string, std::string, Role>;  // function, library, role; as WaitSite
using WakeChainAnswer = std::map<ChainSite, WakeChain>;

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
  void merge(WakeChains&& other);
  WakeChainAnswer finish();

 private:
  // One thread in one blocking call that lies in no other, or where nobody knows what it did.
  struct Blocked {
    double begin_ns = 0, end_ns = 0;
    double post_ns = -1;  // < 0: nobody saw it
    const Track* waker = nullptr;
    const Function* function = nullptr;  // nullptr: records are missing
    std::uint64_t site = 0;
    bool timed_out = false, on_file = false;
  };
  struct OwnTime {
    std::vector<Blocked> blocked;  // by begin
    bool full = false;             // what comes later was not kept
  };
  struct End {
    LinkType type;
    std::vector<Role> roles;
    const Function* function;
    std::uint64_t site;
    auto operator<=>(const End&) const = default;
  };
  struct Sum {
    std::uint64_t count = 0;
    double ns = 0;
  };
  using Ends = std::map<End, Sum>;

  void add_hole(const Event& event);
  void add_wait(const Event& event);
  OwnTime& of(const Event& event);
  // What the thread did in that time.
  void explain(const Track& track, double from_ns, double to_ns, std::vector<const Track*>& way, Ends& ends) const;
  void explain_blocked(const Track& track, const Blocked& blocked, double from_ns, double to_ns,
                       std::vector<const Track*>& way, Ends& ends) const;
  static void end_chain(LinkType type, const Blocked* blocked, double ns, const std::vector<const Track*>& way,
                        Ends& ends);
  std::string library_of(std::uint64_t site) const;

  const Timeline* timeline_;
  std::map<const Track*, OwnTime> threads_;
  const Track* track_ = nullptr;
  OwnTime* own_ = nullptr;
  double last_end_ns_ = 0;
  double hole_begin_ns_ = 0;
  bool in_hole_ = false;  // records are missing since then
};

}  // namespace hostprobe::analysis
