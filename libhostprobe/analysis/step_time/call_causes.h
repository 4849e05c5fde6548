// call_causes.h: what a thread that is in a call loses its time by.
//
// Room 3. By the function, the code that called it, and what the stacks of the waits there show. What none of them proves is
// kUnexplained; who made the thread wait is asked elsewhere (step_time.h).
#pragma once

#include <map>
#include <tuple>

#include "answer/cause.h"
#include "answer/role.h"
#include "model/host_calls.h"
#include "outside_peers.h"
#include "trace/symbols.h"

namespace hostprobe::analysis {

struct CallCause {
  Cause cause = Cause::kUnexplained;
  bool sleeps = false;
};

// Of one process.
class CallCauses {
 public:
  // `process`: HostThread::process of its threads.
  CallCauses(const Timeline& timeline, const HostCalls& calls, Symbols& symbols, std::uint32_t process = 0);
  CallCause of(const HostCall& call, Role role);
  // Who is to send what it waits for; kOfJob: nobody is known to be outside of it.
  Peer peer_of(const HostCall& call, const OutsidePeers& peers) const;
  // Of a call of that thread. Short ones, which carry no stack, are of the batch that was waited for just before.
  CallCause of(const HostThread& thread, const HostCall& call);

 private:
  using Site = std::tuple<const Function*, std::uint64_t, Role>;
  using Key = std::tuple<Site, std::uint16_t, bool>;
  CallCause of_wait(const HostCall& call, Role role);
  // kUnexplained: it shows none.
  Cause of_stack(const HostCall& call, const CodePlace& caller) const;
  bool is_python_lock(const HostCall& call, const Stack& stack, const CodePlace& caller) const;

  const Trace& trace_;
  Symbols& symbols_;
  std::map<Key, CallCause> known_;
  std::map<Site, std::map<Cause, double>> sampled_;  // what those waits are for that carry a stack, by time
};

}  // namespace hostprobe::analysis
