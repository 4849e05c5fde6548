// questions.h: the list of what is asked about a process. A new question is one file and one word here.
//
// Room 3. Each is a class that is made from a Timeline and has
//   add(const Event&)   every event of the threads that were given to it, thread by thread, by time;
//   merge(other)        what another one of its kind saw of other threads;
//   finish()            the answer.
// None of them knows another, or where an event came from.
#pragma once

#include <map>

#include "analysis/measures/certain_idle.h"
#include "analysis/measures/hook_calls.h"
#include "analysis/measures/steps.h"
#include "analysis/measures/wake_chains.h"
#include "model/window.h"
#include "other_calls.h"
#include "steady_state.h"

namespace hostprobe::analysis {

class Questions {
 public:
  // Only events in the window are asked about.
  Questions(const Timeline& timeline, const Window& window, const StepPlan& plan);
  void add(const Event& event) {
    if (everything_)
      ask(event);
    else if (holds(window_, event))
      ask(part_of(window_, event));
  }
  // Of a part of the timeline event_of() each is to be added.
  void add(const LaunchRun& run) {
    hook_calls_.add(run);
    chains_.add(run);
    steps_.add(run);
    steady_.add(run);
    idle_.add(run);
  }
  void merge(Questions&& other);
  // Puts the answers where they belong. Returns how long each thread was blocked.
  std::map<ThreadKey, Blocked> finish(Symbols& symbols, ProcessAnswer& answer, ProcessWork& work);
  // Behind that, once the threads and the shares of the whole are told.
  void finish_steady(const Timeline& timeline, Symbols& symbols, ProcessAnswer& answer) {
    steady_.finish(timeline, symbols, answer);
  }

 private:
  static constexpr Trait kOfLaunch = Trait{kLaunches | kOfDriver};

  void ask(const Event& event) {
    hook_calls_.add(event);
    chains_.add(event);
    steps_.add(event);
    steady_.add(event);
    if (everything_) idle_.add(event);
    if ((event.traits & ~kOfLaunch) != 0) others_.add(event);
  }

  Window window_;
  bool everything_;
  HookCalls hook_calls_;
  WakeChains chains_;
  Steps steps_;
  SteadyState steady_;
  CertainIdleTime idle_;  // of everything; of a part its own walk tells
  OtherCalls others_;
};

}  // namespace hostprobe::analysis
