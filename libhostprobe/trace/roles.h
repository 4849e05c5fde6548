// roles.h: what a thread of a training process is for.
//
// Room 3. Asked before anything else, because waits, wakers and launches are told per role. Evidence in this order: who
// created the thread and with which start routine, the C++ type behind a std::thread, what its Python stacks show, and
// only then its name: names are inherited, cut to 15 bytes, and off by default in NCCL.
#pragma once

#include "answer/role.h"

namespace hostprobe::analysis {

class Symbols;
struct Thread;
struct Trace;

Role role_of(const Trace& trace, const Thread& thread, Symbols& symbols);

}  // namespace hostprobe::analysis
