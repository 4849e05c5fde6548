// pinned_threads.h: the masks that the fix `pin` has given to threads of this process, and what must not notice them.
//
// Room 2 (probe/). A mask travels: new threads, forked children and programs that these become have that of the thread which made
// them; and programs size their thread pools by it. So while threads are pinned, a new thread gets the mask of the others before its
// first instruction, a forked child and a program that is about to be run get back what there was, and sched_getaffinity and
// pthread_getaffinity_np answer as they would without us.
#pragma once

#include "probe/fixes/placement/placement.h"

namespace hostprobe::probe {

struct PinnedMasks {
  CpuSet base;      // of all threads before
  CpuSet main;      // one CPU
  CpuSet progress;  // one or more; a thread gets one of them
  CpuSet others;    // base without those; base where nothing would be left

  // Whether a thread with this mask has it from us: by itself, or cut to the CPUs that are still `allowed`.
  bool gave(const CpuSet& mask, const CpuSet& allowed) const;
};

// Before anything is pinned: threads with another mask than `base` have it from the program.
void note_own_masks(const CpuSet& base);
// Whether the program, as far as is known, has set this thread's mask itself.
bool has_own_mask(int tid);

PinnedMasks masks_of(const CpuSet& base, const Placement& placement);

// From now on new threads, children and questions are answered by these. Writer thread.
void publish_masks(const PinnedMasks& masks);
// Nullptr: nothing is pinned. Any thread; what it points to stays for a second at least.
const PinnedMasks* published_masks();
void withdraw_masks();

// The calling thread is the first of a forked child, or is about to become another program. errno is kept.
void leave_pinned_cpus();

// What was found by a look at all threads of the process.
struct ThreadCount {
  unsigned moved;
  unsigned own;       // that have a mask of the program's own, which stays
  unsigned progress;  // NCCL progress threads
};

unsigned progress_threads();
// Writer thread. Gives each thread but the first the mask of its role. `gave`: what was given out before, or nullptr.
ThreadCount place_threads(const PinnedMasks& masks, const Placement& placement, const PinnedMasks* gave);
// Gives back `base` to each thread that has a mask of ours.
unsigned restore_threads(const PinnedMasks& gave, const CpuSet& base);

}  // namespace hostprobe::probe
