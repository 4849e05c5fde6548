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

#include "answer/wait.h"
#include "model/timeline.h"
#include "wait_purpose.h"

namespace hostprobe::analysis {

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
    HookRole called = HookRole::kOther;
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
// What calls of such a function hold their thread for.
CallKind call_kind(HookRole role);
std::string wait_site_function(const std::string& function, bool on_file);

// "get (queue.py:180)": the frame a person would name. Python's own lock wrappers are passed over.
std::string telling_frame(const Trace& trace, const Stack& stack);
std::string telling_frame(const std::vector<std::string_view>& python);

}  // namespace hostprobe::analysis
