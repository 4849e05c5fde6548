// hook_role.h: what a hooked function is, as its row in the hook table says it.
//
// Room 1 (format/). Written by the block of the hook (probe/record/hook.h) or by an importer, into HookRow::role (file.h), since
// version 4. Probe and analysis go by it alone; a name is for printing. trace/hook_list.h knows what the hooks of
// earlier versions were, whose rows did not say.
#pragma once

#include <cstdint>

namespace hostprobe {

// The number is part of the format. To a reader that does not know one it is as kOther.
enum class HookRole : std::uint8_t {
  kUnsaid = 0,  // in files of versions 1 to 3
  kOther = 1,   // nothing that anybody asks about

  // The CUDA driver, or a runtime above it.
  kLaunch = 10,          // one kernel
  kLaunchMany = 11,      // kernels, how many is not known
  kLaunchGraph = 12,     // its records say how many kernels, where that is known
  kLaunchCallback = 13,  // of a function of the program's: the stream stands still until it returns
  kCopy = 14,
  kCopyToDevice = 15,  // from the host: what steps begin with
  kFill = 16,
  kSync = 17,  // waits for the GPU; which part of its work the records do not say
  kSyncStream = 18,
  kSyncEvent = 19,
  kSyncContext = 20,  // all streams
  kEventRecord = 21,
  kStreamWait = 22,   // a stream, not the host, waits for an event
  kQuery = 23,        // how far the GPU is
  kMemory = 24,       // is allocated, freed, mapped or pinned
  kCode = 25,         // is loaded, linked or compiled, or a graph is made ready to run
  kQueueSample = 26,  // hostprobe's own: whether a launch found its stream empty
  kGpuTime = 27,      // hostprobe's own: how long a collective took on the GPU
  kGpuEnd = 28,       // hostprobe's own: when work ended on the GPU
  kGpuClock = 29,     // hostprobe's own: an event from which others are measured
  kStreamMade = 30,   // a stream is made

  // NCCL.
  kCollective = 40,
  kMessage = 41,  // from one rank to another
  kGroup = 42,    // begins one, or simulates its end
  kGroupEnd = 43,
  kCommunicator = 44,  // is made, or comes to its end

  // Calls of libc that may wait.
  kSemaphore = 60,
  kCondition = 61,
  kLock = 62,
  kFutex = 63,
  kChild = 64,  // until a child process ends
  kSleep = 65,
  kPoll = 66,   // until one of several descriptors is ready
  kRead = 67,   // or receive, accept, connect: until somebody sends
  kWrite = 68,  // or send
  kFileSync = 69,
  kOpen = 70,
  kWait = 71,  // for another thread in another way: its end, a barrier, what is made once
  kWake = 72,  // wakes who waits; leaves no record

  // Threads and processes.
  kThread = 80,  // is made, named or placed
  kYield = 81,   // one round of a progress thread

  // What the program, or Python, says of its own time.
  kStep = 90,
  kOptimizerStep = 91,  // a step's mark that torch's optimizer made, not the program
  kGarbage = 92,        // Python collects it
  kRange = 93,
  kMark = 94,      // a number at one moment
  kActivity = 95,  // on a stream of the GPU, of an imported profile; RowType says which
};

// What else holds for the function; bits.
enum HookTrait : std::uint8_t {
  kTraitPerThread = 1,  // stream 0 is the calling thread's own
  kTraitRuntime = 2,    // of a runtime above the driver, as a profile saw it: its records carry not the driver's words
};

constexpr bool is_launch(HookRole role) { return role >= HookRole::kLaunch && role <= HookRole::kLaunchCallback; }

}  // namespace hostprobe
