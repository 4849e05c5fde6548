// asked_trigger.h: which triggers somebody asked for from outside, and waits to see.
//
// Room 1 (format/). The writer never passes over one, the report never leaves one out.
#pragma once

#include "file.h"

namespace hostprobe {

// The others come by themselves, and in many programs again and again.
constexpr bool is_asked_by_person(std::uint32_t reason) { return reason == kByCommand || reason == kBySignal; }

}  // namespace hostprobe
