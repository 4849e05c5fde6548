// trigger.h: what asks, in mode flight, for the memory of the last seconds to be written out.
//
// Room 2 (probe/). Asked by a slow step, a signal handler, `hostprobe ctl`, a C or Python call, the writer that sees no
// progress; done by the writer thread (flight.cpp) within its next round.
#pragma once

#include <cstdint>

#include "format/file.h"

namespace hostprobe::probe {

struct Trigger {
  TriggerReason reason;
  char text[sizeof EventRow::text];
};

// Async-signal-safe. Of several before the writer looks, the first one counts. False: one is waiting already.
bool request_trigger(TriggerReason reason, const char* text);

// The writer's side: the trigger that waits, if any.
bool take_trigger(Trigger& trigger);

void forget_trigger();

}  // namespace hostprobe::probe
