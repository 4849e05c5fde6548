// new_objects.h: libraries that the program has opened since the last look: their calls are hooked, what we need of them is found.
//
// Room 2 (probe/). The writer thread, in each round. It takes the loader's locks, which somebody may hold for long: a constructor of a
// library that is being opened, and the program may end in there. So nothing of the trace is touched meanwhile.
#pragma once

namespace hostprobe::probe {

// False: the trace has ended meanwhile.
bool look_at_new_objects();

}  // namespace hostprobe::probe
