// host_calls.h: what the threads of a process did that decides when the GPU gets work: launches, waits, and the time between.
//
// Room 3. Only outermost calls: what a call does inside is its own time. In memory for all windows, so their number is
// limited.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "answer/window.h"
#include "search_hint.h"

namespace hostprobe::analysis {

class Timeline;
struct Function;
struct Track;

enum class HostCallType : std::uint8_t {
  kLaunch,       // gives the GPU work: a kernel, a graph, a copy, a fill
  kSynchronise,  // ends when work of the GPU has ended
  kWait,         // of libc, ended by a thread that is known
  kOther,
};

struct HostCall {
  double begin_ns = 0;
  double end_ns = 0;
  double post_ns = 0;  // of a kWait
  const Function* function = nullptr;
  std::uint64_t site = 0;
  std::uint64_t stream = 0;  // of a call of the driver that the probe saw
  std::int32_t waker = -1;
  std::uint32_t name = 0;   // a string's id: of the descriptor that was waited for; 0 = not known
  std::uint16_t stack = 0;  // Record::stack
  HostCallType type = HostCallType::kOther;
  bool on_file = false;
};

struct HostThread {
  const Track* track = nullptr;
  std::uint32_t process = 0;    // whose it is: 0 the one that is looked at, from 1 on its loader's workers
  std::vector<HostCall> calls;  // by begin; none overlap
  std::size_t launches = 0;
  bool whole = true;  // no records are missing in the window
  SearchHint last;    // of call_at()

  // The last call that begins at or before that moment; -1 = none.
  std::ptrdiff_t call_at(double ns) const;
  // For how much of the window it was in calls.
  double in_calls_ns(const Window& window) const;
  // When the other thread ended a wait of this one within the window, of those that had begun by then: the last. Nothing: it did not.
  std::optional<double> let_go_ns(std::int32_t other, const Window& window, double begun_by_ns) const;
};

struct HostCalls {
  std::vector<HostThread> threads;
  std::vector<Window> collections;  // Python's collector stood in the way, on whichever thread; by begin
  bool whole = true;                // false: there are more than are looked at
};

// In the windows, which follow each other.
HostCalls host_calls(const Timeline& timeline, const std::vector<Window>& windows);

}  // namespace hostprobe::analysis
