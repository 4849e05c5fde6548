// modules.h: which objects are mapped where, for turning code addresses into library and offset.
//
// Room 2 (probe/). Called by writer.cpp: at the start, and whenever objects were loaded since.
#pragma once

namespace hostprobe::probe {

// Writes a row for every object that was not written before. Cheap when nothing was loaded.
void write_new_modules();
// A new file, or a forked child: all are new again.
void forget_modules();
// True once after objects were loaded since the last call.
bool modules_changed();

}  // namespace hostprobe::probe
