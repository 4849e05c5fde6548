// thread_type.cpp: see thread_type.h.
#include "thread_type.h"

#include <link.h>
#include <string.h>

#include <atomic>
#include <cstdint>

namespace hostprobe::probe {
namespace {

std::atomic<std::uintptr_t> g_begin{0}, g_end{0};

// libstdc++ is not unloaded while a thread is being created by it, so one range is enough.
int find_range(dl_phdr_info* object, size_t, void*) {
  if (object->dlpi_name == nullptr || strstr(object->dlpi_name, "libstdc++.so") == nullptr) return 0;
  std::uintptr_t end = 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& p = object->dlpi_phdr[i];
    if (p.p_type == PT_LOAD && p.p_vaddr + p.p_memsz > end) end = p.p_vaddr + p.p_memsz;
  }
  g_begin.store(object->dlpi_addr, std::memory_order_relaxed);
  g_end.store(object->dlpi_addr + end, std::memory_order_release);
  return 1;
}

bool in_libstdcxx(const void* address) {
  if (g_end.load(std::memory_order_acquire) == 0) dl_iterate_phdr(find_range, nullptr);
  auto a = reinterpret_cast<std::uintptr_t>(address);
  return a >= g_begin.load(std::memory_order_relaxed) && a < g_end.load(std::memory_order_acquire);
}

}  // namespace

const char* thread_type(const void* site, const void* argument) {
  if (argument == nullptr || !in_libstdcxx(site)) return nullptr;
  // Itanium C++ ABI: the object starts with its vtable pointer, the word before the first function is the type_info,
  // and a type_info is { vtable, name }. The name is null for code built without RTTI.
  auto* const* vtable = *static_cast<void* const* const*>(argument);
  auto* const* type_info = static_cast<void* const*>(vtable[-1]);
  return type_info == nullptr ? nullptr : static_cast<const char*>(type_info[1]);
}

}  // namespace hostprobe::probe
