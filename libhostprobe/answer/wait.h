// wait.h: where threads wait, how long, for what, and who ended the waits.
//
// The waist (answer/). analysis/measures/waits.h and wake_chains.h fill it. A site is (function, calling library, role).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "histogram.h"
#include "hook.h"
#include "role.h"
#include "thread_key.h"

namespace hostprobe::analysis {

enum class WaitPurpose {
  kUnknown,
  kGil,         // Python's interpreter lock
  kDataLoader,  // the next batch of a PyTorch DataLoader
  kQueue,       // something out of (or room in) a Python queue
  kPeers,       // other ranks: gradient exchange, barrier, store
  kGpu,         // the driver
};

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

// A line of code (or of Python) and how much of a site's time was seen there.
struct WaitPlace {
  std::string text;
  std::uint64_t count = 0;
  double total_ms = 0;
};

struct WaitSite {
  std::string function;
  std::string library;
  Role role = Role::kOther;
  CallKind kind = CallKind::kOther;
  bool in_python = false;  // the library is an interpreter
  Histogram time;          // of calls that blocked
  Histogram wake;          // return of the wait minus the waker's post
  // Of wakes where the thread's switches are recorded: until it had a CPU again, and the rest of the way back.
  Histogram run_queue, rest;
  std::map<Role, std::uint64_t> wakers;
  std::map<ThreadKey, std::uint64_t> waker_threads;
  std::map<KernelWaker, std::uint64_t> kernel_wakers;  // of waits without a post that is known
  std::uint64_t unknown_wakers = 0;                    // the post came from a thread this trace does not know
  std::uint64_t timed_out = 0;
  std::set<ThreadKey> threads;               // that waited there
  std::uint64_t open = 0;                    // threads that are in it now, or were when the trace ended
  double open_ms = 0;                        // for so long, all together
  double own_ms = 0;                         // waiting, without what ran meanwhile or was behind a wake; open ones too
  double share_pct = 0;                      // that, of the lives of its threads
  std::map<WaitPurpose, double> purpose_ms;  // how much of the total is proven to be for what
  std::vector<WaitPlace> code;               // calling functions, heaviest first
  std::vector<WaitPlace> python;             // innermost telling Python frame of the sampled waits
  std::vector<std::string> stack;            // the heaviest sampled stack, innermost first
  double sampled_ms = 0;                     // how much of the total carried a stack
  WakeChain chain;                           // of the main thread's sites

  Role main_waker() const;
  // The thread that woke it most often; zeros when none is known.
  ThreadKey main_waker_thread() const;
  double ms_for(WaitPurpose purpose) const;
  // The part of share_pct that is proven to be for that.
  double share_for(WaitPurpose purpose) const;
};

}  // namespace hostprobe::analysis
