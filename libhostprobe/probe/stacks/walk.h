// walk.h: the native frames of the calling thread, by the unwind tables of the loaded objects.
//
// Room 2 (probe/). Takes no lock, allocates nothing, and reads nothing that is not known to be readable
// (unwind_bytes.h). Stacks may be anybody's: a coroutine's, a signal handler's, one made by hand. So it needs little of the
// stack it runs on, 1 KiB, and works in memory that it is given. docs/decisions/0008-own-walk.md says why there is an own
// walk, and what it costs.
#pragma once

#include "probe/stacks/unwind_rules.h"

namespace hostprobe::probe {

// What a walk works in; not initialised.
struct WalkRoom {
  Surroundings around;
  Registers registers;
  UnwindProgram program;
  UnwindRows rows;
  TableWindow tables;
  StackWindow stack;
};

// From the pc in room.registers outwards, where that pc is exact and the others are return addresses. `epoch` changes every
// few seconds. Returns how many frames it wrote, `most` at most; those for which `leaves_out` says so at the beginning are none.
unsigned walk_frames(WalkRoom& room, std::uint32_t epoch, bool (*leaves_out)(const void*), std::uint64_t* frames,
                     unsigned most);

}  // namespace hostprobe::probe
