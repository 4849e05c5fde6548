// parameter_layout.h: where the parameters of a kernel lie, so that they can be copied.
//
// Room 2 (probe/). Asked of the driver once for each function (cuFuncGetParamInfo, cuKernelGetParamInfo) and kept in a table that
// launching threads read without a lock.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

inline constexpr unsigned kMostParameters = 64;
inline constexpr unsigned kMostParameterBytes = 4096;

struct ParameterLayout {
  std::uint16_t is_usable;  // 0: it is not known, or beyond the limits above
  std::uint16_t count;
  std::uint16_t bytes;  // of all, as they lie in the kernel's memory
  std::uint16_t offset[kMostParameters];
  std::uint16_t size[kMostParameters];
};

// False: the driver has no such functions, or there is no memory.
bool prepare_layouts();

// nullptr: not learned yet.
const ParameterLayout* layout_of(const void* function);
// Asks the driver, in the calling thread's current context, after a launch of the function has succeeded.
void learn_layout(const void* function);
// Handles of functions may mean others from now on.
void forget_layouts();

}  // namespace hostprobe::probe
