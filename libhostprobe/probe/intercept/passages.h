// passages.h: what stands in front of the driver's functions that have no hook: kernel launches that wait go first.
//
// Room 2 (probe/). Handed out by the routes (routes.h) for every function that could see or change the order of work; pure
// look-ups have none. A passage knows nothing of its function's parameters: it jumps on, and while launches wait
// (record/launch_order.h) it keeps all argument registers over the call that submits them (passages.S of arch/). Price: one
// load, one branch, one indirect jump. Nothing is recorded.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

// Exported names of the driver, with or without _v2, _ptsz. False: a look-up, or no function of the driver's shape.
bool is_ordered_name(const char* name);

// Stands in front of `real`, found under `name`; the same for the same address. nullptr: none is left.
void* passage_for(const char* name, void* real);

// Once some function got none.
bool passages_used_up();

}  // namespace hostprobe::probe
