// replaced.cpp: see replaced.h. An entry stays with its hook for good, because a call may be in the fix when it is taken away.
#include "probe/record/replaced.h"
#include "probe/runtime/of_process.h"

#include <atomic>

namespace hostprobe::probe {
namespace {

struct Replaced {
  std::atomic<const Hook*> hook;
  std::atomic<FixOfCopy> fix;  // nullptr: at the moment none
  std::atomic<void*> originals[kCopies];
};
constexpr unsigned kMostReplaced = 128;
HP_KEPT_BY_CHILDREN Replaced g_replaced[kMostReplaced];

Replaced* find(const Hook& hook) {
  for (Replaced& entry : g_replaced) {
    const Hook* of = entry.hook.load(std::memory_order_acquire);
    if (of == &hook) return &entry;
    if (of == nullptr) return nullptr;
  }
  return nullptr;
}

Replaced* find_or_add(const Hook& hook) {
  for (Replaced& entry : g_replaced) {
    const Hook* none = nullptr;
    if (entry.hook.compare_exchange_strong(none, &hook, std::memory_order_acq_rel) || none == &hook) return &entry;
  }
  return nullptr;
}

bool put_if(void*& place, void* expected, void* wanted) {
  return std::atomic_ref(place).compare_exchange_strong(expected, wanted, std::memory_order_acq_rel) ||
         expected == wanted;
}

}  // namespace

bool replace_target(Hook& hook, FixOfCopy fix) {
  Replaced* entry = find_or_add(hook);
  FixOfCopy none = nullptr;
  if (entry == nullptr || !entry->fix.compare_exchange_strong(none, fix, std::memory_order_acq_rel)) return false;
  for (unsigned copy = 0; copy < kCopies; ++copy) {
    void* real = std::atomic_ref(hook.target[copy]).load(std::memory_order_acquire);
    if (real == nullptr || real == fix(copy)) continue;
    entry->originals[copy].store(real, std::memory_order_release);
    put_if(hook.target[copy], real, fix(copy));
  }
  return true;
}

void restore_target(Hook& hook) {
  Replaced* entry = find(hook);
  FixOfCopy fix = entry == nullptr ? nullptr : entry->fix.exchange(nullptr, std::memory_order_acq_rel);
  if (fix == nullptr) return;
  for (unsigned copy = 0; copy < kCopies; ++copy)
    put_if(hook.target[copy], fix(copy), entry->originals[copy].load(std::memory_order_acquire));
}

void* original_of(const Hook& hook, unsigned copy) {
  const Replaced* entry = find(hook);
  void* real = entry == nullptr ? nullptr : entry->originals[copy].load(std::memory_order_acquire);
  return real != nullptr ? real : hook.target[copy];
}

bool take_copy(Hook& hook, unsigned copy, void* real) {
  Replaced* entry = find(hook);
  FixOfCopy fix = entry == nullptr ? nullptr : entry->fix.load(std::memory_order_acquire);
  if (fix == nullptr) return put_if(hook.target[copy], nullptr, real);
  void* none = nullptr;
  if (!entry->originals[copy].compare_exchange_strong(none, real, std::memory_order_acq_rel) && none != real)
    return false;
  put_if(hook.target[copy], nullptr, fix(copy));
  return true;
}

}  // namespace hostprobe::probe
