// A stream: work in order, on a virtual clock of its own. Work whose effect nobody can see before it ends (a kernel that
// computes nothing, an event) is only arithmetic on `tail_ns`, done by the thread that submits it. Work with an effect
// (copies, kernels with a host function, callbacks) goes into a queue; it runs when the wall clock reaches its virtual
// start, on the stream's worker thread or on a thread that synchronises, whichever comes first. Late effects never move
// the virtual clock: sleep overshoot does not add up.
#pragma once
#include "handle.h"
#include "kernel_time.h"
#include "launch_queue.h"
#include "moment.h"
#include "node/activities.h"
#include "node/clock.h"
#include "node/futex.h"

#include <cuda.h>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace simnode {

struct Capture;
struct Context;

// Virtual ends of the nodes of one graph launch, so that branches of the graph overlap.
struct GraphRun {
  int64_t start_ns = -1;
  std::vector<int64_t> end_ns;
  const std::vector<std::vector<uint32_t>>* dependencies = nullptr;
  std::shared_ptr<const void> keep_alive;
};

using Effect = std::function<CUresult()>;

// Where the effect that runs on this thread stands on its stream's clock. The end is as modelled; a waiting kernel
// (simnode.h) sets its own.
struct EffectSpan {
  long long start_ns = 0;
  long long end_ns = 0;
};
extern thread_local EffectSpan t_effect_span;

struct Op {
  enum class What : uint8_t { kMark, kWait, kWork, kCallback, kWaiting, kPoll };
  What what = What::kWork;
  int64_t submit_ns = 0;
  int64_t duration_ns = 0;
  MomentRef moment;                     // kMark: to be fixed; kWait: to be waited for
  Effect effect;                        // kWork, kCallback, kWaiting: what it does
  std::function<bool()> arrived;        // kPoll: whether a value in memory has come
  std::function<int64_t()> arrival_ns;  // kPoll: when it came, where that is known; null: now that it is seen
  std::shared_ptr<GraphRun> run;
  uint32_t run_index = 0;
  bool kernel = false;     // its duration varies (kernel_time.h)
  bool immediate = false;  // bookkeeping: takes no turn of the device
  uint64_t launch = 0;     // which launch it ends (launch_queue.h); 0: none
  ActivityLabel label;
};

struct Stream {
  static constexpr Kind kKind = Kind::kStream;
  Context* context = nullptr;
  CUstream handle = nullptr;
  unsigned flags = CU_STREAM_DEFAULT;
  int priority = 0;
  uint64_t id = 0;
  bool legacy = false;
  bool per_thread = false;
  bool dying = false;

  int64_t tail_ns = 0;  // virtual end of everything that left the queue
  std::deque<Op> queue;
  bool running = false;  // the front's effect is running, without the lock
  bool has_worker = false;
  Condition work;                  // the worker waits here when the queue is empty
  uint64_t left = 0;               // how many have left the queue
  uint64_t stuck_at = UINT64_MAX;  // `left` when a launch call gave up waiting for the front
  LaunchQueue launches;
  KernelTimes kernels;
  MomentRef last_mark;  // the mark at the end of the queue, if the queue ends in one
  std::shared_ptr<Capture> capture;

  bool blocking() const { return (flags & CU_STREAM_NON_BLOCKING) == 0; }
};

// All of these are called with the node's lock held.
// A kernel that computes nothing.
void submit_kernel(Stream& stream, int64_t submit_ns, int64_t duration_ns, const ActivityLabel& label);
void submit(Stream& stream, Op op);
void submit_and_wait(Stream& stream, Op op, WaitMode mode);
void submit_wait(Stream& stream, const MomentRef& moment);
MomentRef mark(Stream& stream, int64_t submit_ns);
// An event's record: takes a little of the device's time, and is done when the device has got there.
void record_at_end(Stream& stream, const MomentRef& moment, int64_t submit_ns);
// When the device begins with work that is submitted then, after all that has left the queue.
int64_t begin_ns_of(const Stream& stream, int64_t submit_ns);
// The device was busy from then to then, on an empty queue.
void pass(Stream& stream, int64_t begin_ns, int64_t end_ns);
// Whether a launch that is submitted then finds a place, and how to wait for one: until there is, or until the front of
// the queue has not moved for a second because it waits for something else than time.
bool has_room(const Stream& stream, int64_t submit_ns);
CUresult wait_for_room(CUstream handle);
void order_with_legacy(Stream& stream, int64_t submit_ns);
bool reached(const MomentRef& moment);
bool idle(Stream& stream);

// Waits, releasing the lock meanwhile, until the moment is known and the wall clock has passed it.
void wait_for(MomentRef moment, WaitMode mode);
void wait_for_all(Context& context);
// A planted stall of allocations and frees: the device runs empty, then the caller is kept busy.
void stall_allocation(Context& context);

Stream* make_stream(Context& context, unsigned flags, int priority);
void destroy_stream(Stream& stream);

// Resolves what a program passes as CUstream (null, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD or a handle).
CUresult find_stream(CUstream handle, Stream** stream);

}  // namespace simnode
