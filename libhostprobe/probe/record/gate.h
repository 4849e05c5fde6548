// gate.h: whether this process records now. The one thing that every hook asks first.
//
// Room 2 (probe/). Price of asking: one load and one branch. The page also holds what must not outlive a fork.
#pragma once

#include <cstddef>
#include <cstdint>

#include "probe/arch/architecture.h"
#include "probe/runtime/compiler.h"

namespace hostprobe::probe {

// One page that the kernel empties in every forked child (MADV_WIPEONFORK), whichever call made it: a child that still
// believed itself to be recording would write into its parent's chunks.
struct alignas(kMostPageBytes) Gate {
  std::uint32_t recording;  // 0, or one of these
  std::uint32_t paused;     // not recording, but the trace goes on
  // What must not outlive a fork either (own_page.h, loader.h).
  std::uint32_t owned;    // 0: this process has not made the page its own yet
  std::uint32_t forks;    // threads that are forking
  std::uint32_t visits;   // of ours to the loader
  std::uint32_t scanner;  // the thread that looks at new objects (got.cpp)
  // Stream captures that have begun and not ended, in any thread, and whether a stretch of timed work is open (kStretchOpen): why a
  // call that put work into a stream leaves the hot path. Here because every launch reads this line.
  std::uint32_t captures;
  // Whether kernel launches wait to be submitted (launch_order.h): 0, or some of the bits below. A child has none that waits.
  std::uint32_t launches;
};
static_assert(offsetof(Gate, launches) == 28);                         // passages.S of arch/
inline constexpr std::uint32_t kStretchOpen = std::uint32_t{1} << 31;  // hooks/gpu/gpu_ends.h
inline constexpr std::uint32_t kLaunchesWait = 1;
inline constexpr std::uint32_t kLaunchFailed = 2;  // one that had been taken; the program has not been told yet
inline constexpr std::uint32_t kEverything = 1;
inline constexpr std::uint32_t kNoLaunches = 2;  // for moments, to keep to the budget (budget.h)
inline constexpr std::uint32_t kSampleDue = 3;   // everything; the next launch is sampled too (hooks/queue_samples.h)
inline constexpr std::uint32_t kHeld = 4;        // everything, once an exec that is under way has failed (hold.h)
extern HP_OURS constinit Gate g_gate;

// How many captures are open, of what Gate::captures was found to be.
constexpr std::uint32_t captures_in(std::uint32_t word) { return word & ~kStretchOpen; }
inline bool capture_is_open() { return captures_in(__atomic_load_n(&g_gate.captures, __ATOMIC_RELAXED)) != 0; }

// Both words in one, so that whoever moves the gate from one state to another does it by one instruction.
using GateWord = std::uint64_t __attribute__((may_alias));
inline GateWord* gate_word() { return reinterpret_cast<GateWord*>(&g_gate); }

// This process has a trace that has not ended, whether it records at the moment or pauses.
inline bool trace_is_open() { return __atomic_load_n(gate_word(), __ATOMIC_RELAXED) != 0; }

// From no trace to recording; from anything to no trace.
void open_gate();
void shut_gate();
// The trace stays open, its threads may end, but nothing is recorded. By any thread. False: there is no open trace.
bool pause_recording();
bool resume_recording();
// From recording to kHeld, and back. False: it does not record, or is held already.
bool hold_gate();
void release_gate();
// How often recording paused or went on, so an odd number in a pause; and when last, or when recording began, CLOCK_REALTIME.
std::uint32_t gate_moves();
std::uint64_t gate_moved_ns();

}  // namespace hostprobe::probe
