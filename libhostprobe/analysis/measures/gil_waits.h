// gil_waits.h: which threads waited for Python's interpreter lock, how long, and which thread had it.
//
// Room 3. Told by the caller: in CPython 3.8 and later on Linux only the functions that take the lock (take_gil), and that make sure
// another one gets it (drop_gil), wait for a condition variable from within the interpreter itself. One request may be several waits
// of 5 ms that time out, and one that a release ends.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "answer/python.h"
#include "model/steps.h"
#include "model/timeline.h"

namespace hostprobe::analysis {

class GilWaits {
 public:
  GilWaits(const Timeline& timeline, const StepPlan& plan)
      : trace_(&timeline.trace()), has_steps_(plan.source != StepSource::kNone), span_(plan.span) {}
  void add(const Event& event) {
    if (event.is(kWaits) && event.function->site >= 0 && !event.at_once && is_for_lock(event)) add_wait(event);
  }
  void merge(GilWaits&& other);
  // Heaviest first.
  std::vector<GilThread> finish() const;

 private:
  struct Holder {
    const Track* track;
    std::uint64_t requests;
    double ns;
  };
  struct Waiter {
    const Track* track = nullptr;
    std::uint64_t requests = 0;
    double ns = 0, in_steps_ns = 0, longest_ns = 0;
    double request_ns = 0;  // so far, of the one that has timed out
    std::map<ThreadKey, Holder> holders;
  };

  bool is_for_lock(const Event& event);
  void add_wait(const Event& event);
  static void add_holder(Waiter& waiter, const Event& event);

  const Trace* trace_;
  bool has_steps_;
  Window span_;
  std::map<std::pair<const Function*, std::uint64_t>, bool> sites_;  // function and caller: whether it is for the lock
  std::map<ThreadKey, Waiter> waiters_;
};

}  // namespace hostprobe::analysis
