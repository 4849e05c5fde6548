// loader_batches.h: which worker of a data loader brought the batch that a thread waited for.
//
// Room 3. A batch comes through a pipe. Where one worker alone can write into that pipe, it has brought it. Else nothing of the wait
// tells who wrote: in each worker of PyTorch's one thread writes. The one that made the batch wakes it, it writes, and waits again.
// Whoever began to wait again nearest to the end of the wait has brought it.
#pragma once

#include <vector>

#include "analysis/graph/path_graph.h"
#include "trace/symbols.h"

namespace hostprobe::analysis {

// A process that makes batches.
struct LoaderWorker {
  const Timeline* timeline = nullptr;
  TimeAxis axis = {};
  std::vector<Window> windows;  // that are looked at, on its own clock
};

// Adds the workers' threads to the graph of the process that they work for. A wait for a batch is then one for a thread of theirs.
void link_batches(const Timeline& timeline, const std::vector<LoaderWorker>& workers, Symbols& symbols,
                  PathGraph& graph);

}  // namespace hostprobe::analysis
