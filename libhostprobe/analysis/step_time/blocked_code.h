// blocked_code.h: what a thread waits for that is blocked in no recorded call, by samples of it: files, or others.
//
// Room 3. Its switches say for how long it was blocked; samples say in what: a page of a mapped file, or a system call without a
// hook. All of a thread's samples in steps are taken together, because one span has seldom one of its own. Where a
// quick disk lets hardly any sample find it blocked, the pages that the kernel asked the disk for say how many of its spans were for those.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/graph/path_graph.h"
#include "answer/cause.h"
#include "answer/step_time.h"
#include "model/samples.h"
#include "model/switches.h"
#include "own_code.h"
#include "trace/symbols.h"

namespace hostprobe::analysis {

// Of the time that it is blocked so. The rest has no name: other threads of the program's compute meanwhile (OpenMP), or a timer runs.
struct BlockedParts {
  double files = 0, faults = 0, others = 0;
  double pool = 0;  // of the rest: for threads that share its work
  // Of all of its own time, where its switches are not recorded: it stood still for pages of the disk.
  double disk_of_own = 0;
  double sum() const { return files + faults + others; }
};

class BlockedCode {
 public:
  // Of one process, whose samples are `all`; `number`: HostThread::process of its threads. `steps`, and times of the graph, are on the axis.
  BlockedCode(const Timeline& timeline, const PathGraph& graph, const TimeAxis& axis,
              const std::map<ThreadKey, ThreadSamples>& all, const std::vector<Window>& steps, std::uint32_t number,
              Symbols& symbols);

  // Nothing: too few samples.
  std::optional<BlockedParts> parts(const HostThread& thread) const;
  // Where most of it was, of kFileIo, kPageFaults and kUnexplained; `function`: the system call's, or kPageFault. Nothing: too few samples.
  std::optional<OwnSite> site(std::uint32_t tid, Cause cause) const;

 private:
  std::vector<const BlockedSample*> samples_of(std::uint32_t tid, Cause cause) const;
  double off_for_disk(const HostThread& thread, const ThreadSamples& samples, const TimeAxis& axis,
                      const std::vector<Window>& steps) const;
  void count_faults(const HostThread& thread, const ThreadSamples& samples, const Switches& switches,
                    const TimeAxis& axis, const std::vector<Window>& steps);

  const Trace& trace_;
  Symbols& symbols_;
  std::map<std::uint32_t, std::vector<BlockedSample>> threads_;  // by tid
  std::map<std::uint32_t, BlockedParts> parts_;                  // of those with enough samples
};

}  // namespace hostprobe::analysis
