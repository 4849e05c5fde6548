// kernel_name.cpp: see kernel_name.h.
#include "probe/hooks/kernel_name.h"

#include <errno.h>
#include <string.h>

#include "probe/intercept/routes.h"
#include "probe/record/strings.h"
#include "probe/runtime/of_process.h"

namespace hostprobe::probe {

HP_OF_PROCESS constinit std::atomic<std::uint64_t> g_kernels[1u << kKernelBits]{};

HP_OF_PROCESS static std::atomic<bool> g_any{false};

std::uint32_t ask_kernel_name(const void* function) {
  int saved = errno;
  const char* name = driver_kernel_name(function);
  std::uint32_t id = name == nullptr ? 0 : string_id(name, strlen(name));
  g_any.store(true, std::memory_order_relaxed);
  auto handle = reinterpret_cast<std::uint64_t>(function);
  g_kernels[(handle * 0x9e3779b97f4a7c15u) >> (64 - kKernelBits)].store(handle << 16 | id, std::memory_order_relaxed);
  errno = saved;
  return id;
}

void forget_kernel_names() {
  if (!g_any.load(std::memory_order_relaxed)) return;  // a forked child would copy pages of nothing
  g_any.store(false, std::memory_order_relaxed);
  for (auto& kernel : g_kernels) kernel.store(0, std::memory_order_relaxed);
}

}  // namespace hostprobe::probe
