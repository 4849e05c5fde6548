// parameter_layout.cpp: see parameter_layout.h. What is in the table is never written again, only forgotten: a launch on another
// thread may still read it. So memory that was used is not used again, and when it is used up functions stay unknown.
#include "probe/fixes/launching/parameter_layout.h"

#include <cuda.h>
#include <string.h>

#include <atomic>

#include "probe/fixes/row/own_memory.h"
#include "probe/intercept/routes.h"
#include "probe/runtime/of_process.h"

namespace hostprobe::probe {
namespace {

constexpr unsigned kSlots = 4096;  // of the table; a power of two
constexpr unsigned kProbes = 16;
constexpr unsigned kMostKnown = 16384;
constexpr unsigned kMostLayouts = 512;

struct Known {
  const void* function;
  const ParameterLayout* layout;
};

struct Layouts {
  std::atomic<const Known*> slots[kSlots];
  Known known[kMostKnown];
  ParameterLayout layouts[kMostLayouts];
  unsigned known_count, layout_count;  // written by who holds `taken`
  std::atomic<bool> taken;
};

using ParamInfo = CUresult (*)(const void* function, std::size_t index, std::size_t* offset, std::size_t* bytes);

HP_OF_PROCESS std::atomic<Layouts*> g_layouts{nullptr};
HP_OF_PROCESS ParamInfo g_of_function = nullptr;
HP_OF_PROCESS ParamInfo g_of_kernel = nullptr;

unsigned first_slot(const void* function) {
  return static_cast<unsigned>((reinterpret_cast<std::uint64_t>(function) >> 4) * 0x9e3779b97f4a7c15u >> 52) % kSlots;
}

// The driver says "invalid value" behind the last parameter; anything else is no answer.
bool ask(ParamInfo info, const void* function, ParameterLayout& layout) {
  layout = {};
  for (std::size_t offset, bytes;; ++layout.count) {
    offset = bytes = 0;
    const CUresult answer = info(function, layout.count, &offset, &bytes);
    if (answer == CUDA_ERROR_INVALID_VALUE) return true;
    if (answer != CUDA_SUCCESS || layout.count == kMostParameters || offset + bytes > kMostParameterBytes) return false;
    layout.offset[layout.count] = static_cast<std::uint16_t>(offset);
    layout.size[layout.count] = static_cast<std::uint16_t>(bytes);
    if (offset + bytes > layout.bytes) layout.bytes = static_cast<std::uint16_t>(offset + bytes);
  }
}

// A CUkernel may stand for a CUfunction, and the first question may then be answered by any error.
ParameterLayout asked_layout(const void* function) {
  ParameterLayout layout, of_kernel;
  layout.is_usable = ask(g_of_function, function, layout);
  if (layout.is_usable != 0 && layout.count != 0) return layout;
  if (g_of_kernel != nullptr && ask(g_of_kernel, function, of_kernel) && of_kernel.count != 0) {
    of_kernel.is_usable = 1;
    return of_kernel;
  }
  return layout.is_usable != 0 ? layout : ParameterLayout{};
}

// Many functions have the same. nullptr: no room.
const ParameterLayout* kept_layout(Layouts& all, const ParameterLayout& layout) {
  for (unsigned i = 0; i < all.layout_count; ++i)
    if (memcmp(&all.layouts[i], &layout, sizeof layout) == 0) return &all.layouts[i];
  if (all.layout_count == kMostLayouts) return nullptr;
  memcpy(&all.layouts[all.layout_count], &layout, sizeof layout);
  return &all.layouts[all.layout_count++];
}

void keep(Layouts& all, const void* function, const ParameterLayout& layout) {
  const ParameterLayout* kept = kept_layout(all, layout);
  if (kept == nullptr || all.known_count == kMostKnown) return;
  Known& known = all.known[all.known_count];
  known = {function, kept};
  for (unsigned i = 0; i < kProbes; ++i) {
    const Known* none = nullptr;
    if (!all.slots[(first_slot(function) + i) % kSlots].compare_exchange_strong(none, &known,
                                                                                std::memory_order_acq_rel))
      continue;
    ++all.known_count;
    return;
  }
}

}  // namespace

bool prepare_layouts() {
  if (g_layouts.load(std::memory_order_acquire) != nullptr) return true;
  if (!find_routed(g_of_function, "cuFuncGetParamInfo")) return false;
  find_routed(g_of_kernel, "cuKernelGetParamInfo");
  g_layouts.store(static_cast<Layouts*>(own_memory(sizeof(Layouts))), std::memory_order_release);
  return g_layouts.load(std::memory_order_relaxed) != nullptr;
}

const ParameterLayout* layout_of(const void* function) {
  Layouts* all = g_layouts.load(std::memory_order_acquire);
  for (unsigned i = 0; i < kProbes && all != nullptr; ++i) {
    const Known* known = all->slots[(first_slot(function) + i) % kSlots].load(std::memory_order_acquire);
    if (known == nullptr) return nullptr;
    if (known->function == function) return known->layout;
  }
  return nullptr;
}

void learn_layout(const void* function) {
  Layouts* all = g_layouts.load(std::memory_order_acquire);
  if (all == nullptr || all->taken.exchange(true, std::memory_order_acquire)) return;
  if (layout_of(function) == nullptr) keep(*all, function, asked_layout(function));
  all->taken.store(false, std::memory_order_release);
}

void forget_layouts() {
  Layouts* all = g_layouts.load(std::memory_order_acquire);
  for (unsigned i = 0; i < kSlots && all != nullptr; ++i)
    if (all->slots[i].load(std::memory_order_relaxed) != nullptr)
      all->slots[i].store(nullptr, std::memory_order_release);
}

}  // namespace hostprobe::probe
