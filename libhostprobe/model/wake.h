// wake.h: who ended a wait, as its record says.
//
// Room 3.
#pragma once

#include <cstdint>
#include <optional>

#include "format/record.h"
#include "function.h"

namespace hostprobe::analysis {

// Who ended a wait, and when.
struct Wake {
  std::uint32_t tid = 0;
  std::uint64_t ticks = 0;
};

// Nothing where it is not known: no waker, or a post from before the wait.
std::optional<Wake> wake_of(const Function& function, const Record& record);

}  // namespace hostprobe::analysis
