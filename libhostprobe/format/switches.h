// switches.h: when threads of a process were put on a CPU and taken off it (kBlockSwitches).
//
// Room 1 (format/). Written by the probe's writer from the kernel's perf buffers, read by analysis/trace/. One block holds what was taken
// out of them at a time; rows of one CPU are in time order, rows of several are not.
#pragma once

#include <cstdint>

namespace hostprobe {

enum SwitchWhat : std::uint16_t {
  kSwitchedIn = 1,
  kSwitchedOut = 2,          // it waits
  kSwitchedOutRunnable = 3,  // it was taken off: preempted, or its quota was used up
  // The buffer of that CPU was full: from the first of these rows to the second, side by side, rows of any thread may be missing.
  kDropsBegin = 4,
  kDropsEnd = 5,  // `tid`: how many rows; as many as two in a switch
  // From the first of these to the second, side by side, there are no rows of thread `tid` (0: of any), on purpose: it switched too often.
  kLeftOutBegin = 6,
  kLeftOutEnd = 7,
};

//  block:  | SwitchesHead 32 | SwitchRow × count |
struct SwitchesHead {
  std::uint64_t begin_ticks;  // between these two nothing is missing but what `lost` counts
  std::uint64_t end_ticks;
  std::uint64_t lost;  // switches that the kernel counted and no row tells
  std::uint32_t count;
  std::uint32_t compared;  // 1: with the kernel's counts, up to here; 0: what this block lacks a later one tells
};
static_assert(sizeof(SwitchesHead) == 32);

struct SwitchRow {
  std::uint64_t ticks;
  std::uint32_t tid;
  std::uint16_t cpu;
  std::uint16_t what;  // SwitchWhat
};
static_assert(sizeof(SwitchRow) == 16);

}  // namespace hostprobe
