// without_cpu.h: for which part of the time in which it had something to do a thread had no CPU.
//
// Room 3. Where the thread's switches are recorded: it was taken off its CPU, or woken and not put on one for longer than the way back
// takes. Elsewhere estimated: the kernel tells how long a thread was ready and not running, but only for all of its life. Most of that is behind the
// moments at which it was to go on: a wake, the end of the GPU's work. What is usual there is the way back; what is beyond, as far as
// the kernel's total reaches, is a lack of a CPU. The rest of the total is spread over the time in which the thread ran. Where its
// counts were taken again and again (model/samples.h), each piece of time has its own; they also say for how long it was blocked.
// That total is a bound, and what is taken here never exceeds it: a thread that seems to be late, and that the kernel did not count as
// ready, still waits. A process that is being started waits for no CPU before it runs.
// Where the driver has threads of its own that tell a wait for the GPU that it is over, their lack of a CPU makes it late as well: as far as
// their totals reach.
#pragma once

#include <map>

#include "analysis/graph/path_graph.h"
#include "answer/process.h"
#include "cpu_use.h"
#include "model/samples.h"
#include "model/switches.h"

namespace hostprobe::analysis {

// Of the way back from a call that had nothing left to wait for.
struct WayBack {
  double without_cpu_ns = 0;
  double blocked_ns = 0;  // it waited on: nothing was ready to run
};

class WithoutCpu {
 public:
  // Windows are on the axis of the graph, whose calls are those in `steps`. `process`: HostThread::process of its threads.
  WithoutCpu(const ProcessAnswer& answer, const PathGraph& graph, const Timeline& timeline, const TimeAxis& axis,
             const std::map<ThreadKey, ThreadSamples>& samples, const std::vector<Window>& steps,
             std::uint32_t process);
  // Whether its switches are, and the next three are no estimates.
  bool is_recorded(const HostThread& thread, const Window& window) const {
    return switches_in(thread, axis_.back(window)) != nullptr;
  }
  // Of time in which it was in no call. What is taken from the kernel's total is gone from it.
  double take_of_own(const HostThread& thread, const Window& window);
  // Of the same: for how long it was blocked, and nobody had taken it off its CPU. 0: that is not known.
  double blocked_of_own(const HostThread& thread, const Window& window) const;
  WayBack take_of_return(const HostThread& thread, HostCallType type, const Window& window);
  // CPU time of the process there, as far as its threads were counted.
  double cpu_ns(const Window& window) const;

 private:
  struct Returns;
  // Which parts of its own time the thread was ready and had no CPU, and was blocked.
  struct Supply {
    Window window;
    double own_part = 0, blocked_part = 0;
  };
  struct Thread {
    double usual_sync_ns = 0, usual_wait_ns = 0;
    double own_part = 0, return_part = 0;                 // of what is estimated
    double preempted_part = 1, recorded_return_part = 0;  // of what is recorded: as far as the total reaches
    double since_ns = -1e300;                             // it began to run, on the trace's axis
    double left_ns = 1e300;                               // of the kernel's total
    std::vector<Supply> supply;                           // on the trace's axis, by time

    double usual_ns(HostCallType type) const { return type == HostCallType::kWait ? usual_wait_ns : usual_sync_ns; }
    double bound_recorded(double delay_ns, double preempted_ns, const Returns& returns);
    void spread(double delay_ns, const ThreadAnswer& times, const Returns& returns);
    double late_ns(const Returns& returns, const Window& own) const;
    // By Supply::own_part or the other; where nothing was counted by `elsewhere`.
    double supplied(const Window& own, double Supply::*part, double elsewhere) const;
    double take(double ns);
  };
  Thread estimate(const ProcessAnswer& answer, const Timeline& timeline, const HostThread& one,
                  const Returns& returns) const;
  Returns returns_of(const PathGraph& graph, std::size_t number) const;
  std::vector<Supply> supply_of(const HostThread& thread, const Thread& known, const Returns& returns,
                                const std::vector<SupplySample>& samples, const std::vector<Window>& steps) const;
  // Of one run, until which the thread was ready. The less of its CPUs the process leaves idle, the less of that is the way back.
  double way_back_ns(const Window& own) const;
  Thread* find(const HostThread& thread);
  double take_of_driver(double late_ns);
  // nullptr: they are not recorded there.
  const ThreadSwitches* switches_in(const HostThread& thread, const Window& own) const;

  const Switches& switches_;
  TimeAxis axis_;
  CpuUse use_;  // by the process's sampled threads
  double allowed_cpus_;
  std::map<const HostThread*, Thread> threads_;
  double driver_left_ns_ = 0, driver_part_ = 0;  // of its threads' totals; of each late return
};

}  // namespace hostprobe::analysis
