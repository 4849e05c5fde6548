// bell.h: what wakes the writer.
//
// Room 2 (probe/). Rung on the program's threads where a chunk was handed over, a thread ended or memory is short. A system
// call only while the writer sleeps.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

void wake_writer();
// Also one that is about to fall asleep: for what must not wait until its next round.
void call_writer();

// The writer's side: how often it was rung, and sleeping until it is rung again, at most so long. Returns at once if it was
// rung since `count`, or `stays_awake` says so once everybody would wake it.
std::uint32_t bell_count();
void sleep_by_bell(std::uint32_t count, long nanoseconds, bool (*stays_awake)());

}  // namespace hostprobe::probe
