// arena.h: memory of the probe's own, so that it never calls the program's malloc (which may be hooked, broken or held).
//
// Room 2 (probe/). Mapped in one piece when recording starts, handed out in cache lines, never given back: the process
// keeps it until it ends; a forked child that may uses the place again.
#pragma once

#include <cstddef>

namespace hostprobe::probe {

bool arena_make(std::size_t bytes);
void* arena_take(std::size_t bytes);  // nullptr when used up
void arena_leave(bool free_for_use);  // the next arena may lie where this one does

}  // namespace hostprobe::probe
