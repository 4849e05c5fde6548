// waits.h: which threads wait where, how long, and how late they run again after they were woken.
//
// Room 3. A site is (function, calling library, role).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "model/timeline.h"
#include "wait_purpose.h"
#include "wake_chains.h"

namespace hostprobe::analysis {

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
  Histogram time;  // of calls that blocked
  Histogram wake;  // return of the wait minus the waker's post
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

class Waits {
 public:
  explicit Waits(const Timeline& timeline) : trace_(timeline.trace()) {}
  void add(const Event& event) {
    if (!event.is(kWaits) || event.at_once) return;
    if (event.type == EventType::kCounter)
      add_counter(event);
    else
      add_call(event);
  }
  void merge(Waits&& other);
  // Heaviest first. Names the code with `symbols`.
  std::vector<WaitSite> finish(Symbols& symbols);

 private:
  struct Sum {
    std::uint64_t count = 0;
    double ns = 0;
    void add(double more_ns, std::uint64_t times = 1) {
      count += times;
      ns += more_ns;
    }
    void add(const Sum& other) { add(other.ns, other.count); }
  };
  struct Address {
    Sum all;
    std::map<std::uint16_t, Sum> stacks;
  };
  struct Site {
    WaitSite answer;
    std::map<std::uint64_t, Address> addresses;
    std::uint16_t heaviest_stack = 0;
  };
  struct CallKey {
    const Function* function;
    std::uint64_t address;
    bool file;  // the descriptor was a file
    bool operator==(const CallKey&) const = default;
  };
  struct CallKeyHash {
    std::size_t operator()(const CallKey& key) const {
      return std::hash<const Function*>()(key.function) ^ std::hash<std::uint64_t>()(key.address * 0x9e3779b97f4a7c15);
    }
  };
  struct Call {
    Site* site;
    Address* address;
  };

  Call& call_of(const Event& event);
  void add_call(const Event& event);
  void add_counter(const Event& event);
  static void add_waker(WaitSite& site, const Track* waker, std::uint64_t times);
  void name_code(Site& site, Symbols& symbols) const;
  void name_stacks(Site& site) const;
  void name_stack_callers(const Site& site, std::map<std::string, WaitPlace>& places, Symbols& symbols) const;
  void tell_purpose(Site& site, const Address& address, const CodePlace& place, Symbols& symbols) const;

  const Trace& trace_;
  std::map<std::tuple<std::string, std::string, Role>, Site> sites_;
  std::unordered_map<CallKey, Call, CallKeyHash> calls_;  // of one thread
  const Track* calls_track_ = nullptr;
};

// What a site calls its function: "__poll_chk" is what a fortified build calls instead of poll.
std::string wait_site_function(const std::string& function, bool on_file);

// "get (queue.py:180)": the frame a person would name. Python's own lock wrappers are passed over.
std::string telling_frame(const Trace& trace, const Stack& stack);
std::string telling_frame(const std::vector<std::string_view>& python);

}  // namespace hostprobe::analysis
