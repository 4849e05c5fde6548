// asked_trigger.h: which triggers a person asked for, and waits to see.
//
// Room 1 (format/). The writer never passes over one, the report never leaves one out.
#pragma once

#include "file.h"

namespace hostprobe {

// Slow steps come by themselves, and signals from scripts, again and again: a storm of them must not fill a disk.
constexpr bool is_asked_by_person(std::uint32_t reason) { return reason == kByCommand; }

}  // namespace hostprobe
