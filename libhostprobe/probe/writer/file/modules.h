// modules.h: which objects are mapped where, for turning code addresses into library and offset.
//
// Room 2 (probe/). On the writer thread: at the start, and whenever objects were loaded since.
#pragma once

namespace hostprobe::probe {

// Writes a row for every object that was not written before. Cheap when nothing was loaded. `last`: the process ends, and
// no lock of the loader may be waited for.
void write_new_modules(bool last = false);
// A new file: nothing is in it. A child of a fork has the rows of its parent, unless that was in the middle of a walk.
void begin_modules();
// True when objects were loaded since rows were written.
bool modules_changed();

}  // namespace hostprobe::probe
