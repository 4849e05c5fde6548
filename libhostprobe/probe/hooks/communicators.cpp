// communicators.cpp: see communicators.h.
#include "probe/hooks/communicators.h"

namespace hostprobe::probe {
namespace {

constexpr unsigned kBits = 9;
constexpr unsigned kProbes = 32;
constinit Communicator g_communicators[1u << kBits]{};

std::atomic<bool> g_any{false};

Communicator& slot_of(const void* handle, unsigned probe) {
  auto key = reinterpret_cast<std::uint64_t>(handle) * 0x9e3779b97f4a7c15u >> (64 - kBits);
  return g_communicators[(key + probe) % (1u << kBits)];
}

}  // namespace

Communicator* find_communicator(const void* handle) {
  if (handle == nullptr) return nullptr;
  for (unsigned probe = 0; probe < kProbes; ++probe) {
    Communicator& slot = slot_of(handle, probe);
    if (slot.handle.load(std::memory_order_acquire) == handle) return &slot;
  }
  return nullptr;
}

void note_communicator(const void* handle, std::uint64_t id, int rank, int size) {
  if (handle == nullptr) return;
  forget_communicator(handle);  // a new one at the address of one whose end was not seen
  g_any.store(true, std::memory_order_relaxed);
  static const char claimed = 0;
  for (unsigned probe = 0; probe < kProbes; ++probe) {
    Communicator& slot = slot_of(handle, probe);
    const void* none = nullptr;
    if (!slot.handle.compare_exchange_strong(none, &claimed, std::memory_order_acq_rel)) continue;
    slot.id = id;
    slot.rank = rank;
    slot.size = size;
    slot.collectives.store(0, std::memory_order_relaxed);
    slot.messages.store(0, std::memory_order_relaxed);
    slot.children.store(0, std::memory_order_relaxed);
    slot.handle.store(handle, std::memory_order_release);
    return;
  }
}

void forget_communicator(const void* handle) {
  if (Communicator* found = find_communicator(handle)) found->handle.store(nullptr, std::memory_order_release);
}

void forget_communicators() {
  if (!g_any.load(std::memory_order_relaxed)) return;  // a forked child would copy pages of nothing
  g_any.store(false, std::memory_order_relaxed);
  for (Communicator& slot : g_communicators) slot.handle.store(nullptr, std::memory_order_relaxed);
}

std::uint64_t mix(std::uint64_t id, const void* bytes, std::uint64_t count) {
  auto* at = static_cast<const unsigned char*>(bytes);
  for (std::uint64_t i = 0; i < count; ++i) id = (id ^ at[i]) * 0x100000001b3u;
  return id;
}

}  // namespace hostprobe::probe
