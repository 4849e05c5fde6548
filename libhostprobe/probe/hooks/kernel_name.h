// kernel_name.h: the name of a launched kernel, by its handle.
//
// Room 2 (probe/). On the launching thread, after a launch that succeeded. Price when the handle is known: one multiply,
// one load, one compare. Unknown: the driver is asked once (cuFuncGetName, CUDA 12.3 and later).
#pragma once

#include <atomic>
#include <cstdint>

#include "probe/runtime/compiler.h"

namespace hostprobe::probe {

// A handle in the upper 48 bits (user addresses have 47) and a string id in the lower 16: read and written as one word.
inline constexpr unsigned kKernelBits = 11;
extern HP_OURS constinit std::atomic<std::uint64_t> g_kernels[1u << kKernelBits];

std::uint32_t ask_kernel_name(const void* function);

inline std::uint32_t kernel_name(const void* function) {
  auto handle = reinterpret_cast<std::uint64_t>(function);
  std::uint64_t known = g_kernels[(handle * 0x9e3779b97f4a7c15u) >> (64 - kKernelBits)].load(std::memory_order_relaxed);
  if (__builtin_expect((known >> 16) == handle, 1)) return static_cast<std::uint32_t>(known & 0xffff);
  return ask_kernel_name(function);
}

// Handles may be given out again after a module was unloaded.
void forget_kernel_names();

}  // namespace hostprobe::probe
