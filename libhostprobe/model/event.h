// event.h: one happening on the timeline, whatever its source: a record, a counter, later an imported profile or the
// kernel's scheduler.
//
// Room 3. Decoded once, by timeline.h, and handed to every question; ticks, packed words and hook tables end here. Times
// are nanoseconds since the first clock reading of the trace, as doubles, which hold a year to 4 ns.
#pragma once

#include <cstdint>

#include "answer/histogram.h"
#include "answer/role.h"
#include "function.h"
#include "trace/thread.h"

namespace hostprobe::analysis {

// A thread, and what it is for.
struct Track {
  const Thread* thread = nullptr;
  Role role = Role::kOther;

  const ThreadKey& key() const { return thread->key; }
};

enum class EventType : std::uint8_t {
  kCall,     // one call
  kCounter,  // many calls of one function at one place in one thread, of which only counters are left
  kLost,     // calls are missing here: lost, or left out for the budget
  kCounted,  // calls are missing here, but counters know them
};

// What a collective call says of itself; zeros elsewhere.
struct CollectiveWords {
  std::uint32_t sequence = 0;  // on its communicator; 0 = the call failed
  std::int32_t rank = -1;      // on it
  std::int32_t size = 0;
  std::int32_t peer = -1;  // of a message the other end, else the root; -1 = none
  std::uint64_t begin_monotonic_ns = 0;
};

// The histograms of a counter.
struct Distribution {
  Histogram time;
  Histogram wake;      // of a launch: the gaps before the calls
  double wake_ns = 0;  // all of them together, exactly
};

struct Event {
  EventType type = EventType::kCall;
  bool at_once = false;  // a wait that did not have to
  bool timed_out = false;
  bool on_file = false;            // its descriptor was a file
  bool counted = false;            // a counter counts it too: it tells only what a counter cannot
  bool found_empty = false;        // a launch, its stream: of a queue sample
  bool below_limit = false;        // a counter of calls too short to be recorded
  std::uint16_t stack = 0;         // Record::stack
  std::uint64_t count = 1;         // calls
  const Record* record = nullptr;  // of a call; gone when its walk goes on
  const Function* function = nullptr;
  std::uint32_t traits = 0;  // the function's
  const Track* track = nullptr;
  double begin_ns = 0;  // a counter has no place in time
  double end_ns = 0;
  double duration_ns = 0;  // of a counter: of all its calls together
  std::uint64_t site = 0;  // the code that called; of a collective counter also kSiteNotTaken
  std::uint64_t communicator = 0;
  std::uint64_t bytes = 0;  // of a collective
  std::uint64_t work =
      0;  // of a launch: its kernel, graph or function; of a step's mark: its number; of a region: its name; of a collection: the generation
  std::uint64_t grid = 0;
  bool captured = false;         // a launch that a stream capture took: nothing ran
  bool has_gap = false;          // of a launch: the one before it on this thread is known
  bool gap_lost = false;         // records are missing since that one
  double gap_ns = 0;             // from the end of that one to the begin of this
  std::int64_t kernels = 0;      // of a launch: how many it ran, all of a counter's together; < 0: not known
  std::uint64_t timeouts = 0;    // of a counter
  std::uint64_t end_ticks = 0;   // only to ask the trace what was mapped then
  double wake_ns = -1;           // from the post that ended the wait to its return; < 0 = no post is known
  const Track* waker = nullptr;  // who posted; nullptr with a post = a thread that the trace does not know
  // Where the thread's switches are recorded; < 0 = they are not, there.
  double run_queue_ns = -1;   // of a wait with a post: until it had a CPU again
  double gap_no_cpu_ns = -1;  // of a launch with a gap: of the gap, preempted or behind a wake
  std::int32_t gap_switches = -1;
  CollectiveWords collective;
  const Distribution* distribution = nullptr;  // of a counter
  const Event* in_steps =
      nullptr;  // of a counter whose part before the first step is known: the rest, of 0 calls or more

  bool is(Trait trait) const { return (traits & trait) != 0; }
  void set_function(const Function* one) {
    function = one;
    traits = one == nullptr ? 0 : one->traits;
  }
};

}  // namespace hostprobe::analysis
