// stack_table.h: the segment's stacks: each distinct one is kept once, and a record names it by its number.
//
// Room 2 (probe/). Any thread; nobody waits. The table is filled from a stack's hash on, and an entry is never changed again.
#pragma once

#include <atomic>

#include "format/segment.h"
#include "probe/stacks/python_frame.h"

namespace hostprobe::probe {

struct NativeFrames {
  std::uint64_t native[kStackFrames];
  unsigned count;
};

// How many there are, so that the writer knows when there is a new one.
extern std::atomic<std::uint32_t> g_stacks_added;

// Names of Python functions as strings of the segment.
void name_frames(const PythonFrame* frames, unsigned count, std::uint32_t* names);
// Entry of the table plus 1; 0: it is full.
std::uint16_t stack_number(const NativeFrames& frames, const std::uint32_t* python, unsigned python_count);
// The stack of a running thread's frames, for a sample; 0: there is no room for it. Samples take half of the table at most, and keep only
// the innermost frame once they are near that. Writer thread.
std::uint16_t stack_of_frames(const PythonFrame* frames, unsigned count);

}  // namespace hostprobe::probe
