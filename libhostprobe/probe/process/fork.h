// fork.h: what has to be right in a child that this process forks, whichever call makes it.
//
// Room 2 (probe/). Two means. The gate's page (own_page.h) is emptied by the kernel in every child, those of _Fork and clone
// included, where no handler runs. And fork waits, for a bounded time, until nothing of ours is in the loader: a lock that
// is held at that moment stays held in the child for ever.
#pragma once

namespace hostprobe::probe {

// Before and after a call that forks without running those handlers: _Fork, and clone by syscall(). True: the second is to
// be called, with what the call returned. errno is kept.
bool before_bare_fork();
void after_bare_fork(long result);

}  // namespace hostprobe::probe
