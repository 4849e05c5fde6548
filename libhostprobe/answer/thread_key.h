// thread_key.h: what tells a thread apart from every other of its process.
//
// The waist (answer/). Thread ids are used again; the begin is not.
#pragma once

#include <compare>
#include <cstdint>

namespace hostprobe::analysis {

struct ThreadKey {
  std::uint32_t tid;
  std::uint64_t start_ticks;
  auto operator<=>(const ThreadKey&) const = default;
};

}  // namespace hostprobe::analysis
