// trigger.h: what asks, in mode flight, for the memory of the last seconds to be written out.
//
// Room 2 (probe/). By a slow step, a signal handler, `hostprobe ctl`, a C or Python call, the writer that sees no
// progress; done by the writer thread (flight.cpp) within its next round.
#pragma once

#include <cstdint>

#include "format/file.h"

namespace hostprobe::probe {

struct Trigger {
  TriggerReason reason;
  char text[sizeof EventRow::text];
};

// Whether this process's mode keeps anything back that a trigger could write out.
bool mode_has_dumps();

// Async-signal-safe. Of several before the writer looks, the first one counts. False: one is waiting already, or the mode
// has no dumps.
bool request_trigger(TriggerReason reason, const char* text);

// A step took so long, in milliseconds, beside a usual one. Not async-signal-safe; keeps errno.
void request_slow_step(std::uint64_t number, double ms, double usual_ms);

// The writer's side: the trigger that waits, if any.
bool take_trigger(Trigger& trigger);

// The latest one, whether or not it has been taken, for `hostprobe ctl PID status`. By the writer. False: there was none,
// or it is just coming.
struct LastTrigger {
  Trigger trigger;
  std::uint64_t number;       // how many there have been
  std::uint64_t realtime_ns;  // when it came
};
bool last_trigger(LastTrigger& last);

}  // namespace hostprobe::probe
