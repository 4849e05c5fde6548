// memory_owner.h: whether the memory that a process runs in is its own.
//
// Room 2 (probe/). A child of clone(CLONE_VM) runs in its parent's. Were it to begin a trace, the parent would find one that
// is not its own, and neither would be recorded. Cold, async-signal-safe.
#pragma once

namespace hostprobe::probe {

bool memory_is_ours();

}  // namespace hostprobe::probe
