// thread_stacks.h: the stacks of one thread, handed out with their time: what it ran, and what it waited in.
//
// Room 3. A wait inside another one counts once, for the outer. Of waits that are in counters alone there is a stack of the caller
// and the function, and no step.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "samples.h"
#include "timeline.h"
#include "trace/symbols.h"

namespace hostprobe::analysis {

enum class ThreadState : std::uint8_t { kRunning, kWaiting };

const char* thread_state_name(ThreadState state);

struct ThreadStack {
  ThreadState state = ThreadState::kRunning;
  double begin_ns = 0, end_ns = 0;  // on the scale of events; the same: it has no place in time
  double ns = 0;
  std::uint64_t count = 1;
  std::vector<std::string> frames;  // the outermost first
};

using TakeStack = std::function<void(const ThreadStack& stack)>;

class ThreadStacks {
 public:
  ThreadStacks(const Timeline& timeline, Symbols& symbols) : timeline_(timeline), symbols_(symbols) {}

  void take_samples(const ThreadSamples& samples, const TakeStack& take);
  void take_waits(const Track& track, const TakeStack& take);

 private:
  std::vector<std::string> frames_of(std::uint32_t stack) const;
  std::vector<std::string> frames_at(const Event& wait) const;
  ThreadStack stack_of(const Event& wait) const;

  const Timeline& timeline_;
  Symbols& symbols_;
};

}  // namespace hostprobe::analysis
