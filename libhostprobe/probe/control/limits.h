// limits.h: settings in microseconds become the limits of the hot path (record/limits.h), which are in ticks.
//
// Room 2 (probe/). Before recording begins, and by the writer whenever it knows the tick rate better or sheds detail.
#pragma once

namespace hostprobe::probe {

// By what is known of the tick rate so far.
void apply_limits();
// Once more of it is known, or less detail is wanted.
void refresh_limits();

}  // namespace hostprobe::probe
