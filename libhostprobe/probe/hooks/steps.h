// steps.h: training steps, as the program tells of them, and the one that takes much longer than the others.
//
// Room 2 (probe/). On the program's threads, once per step of some milliseconds, so it may cost a
// microsecond. Everything it keeps lies in the thread's own storage; nothing is allocated.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

// The step that ends now, on this thread. False: it left no record, because it is the first or nothing is recorded.
bool note_step(std::uint64_t number, const void* site);
// The step that the last note_step() of this thread began ends now, and none begins. False: as above, or none was under way.
bool end_step(const void* site);

// An optimizer of torch ended a step on this thread. Of several that step in turn the first one counts; none does once the
// program marks its steps itself.
void note_optimizer_step(const void* optimizer);

// Whether steps of this thread end with that optimizer's, as far as is known.
bool may_end_steps(const void* optimizer);
// The median of this thread's last steps; 0: there were too few.
double usual_step_ms();

// Child of a fork: its first call ends no step.
void forget_steps();

}  // namespace hostprobe::probe
