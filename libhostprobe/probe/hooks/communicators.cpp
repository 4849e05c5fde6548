// communicators.cpp: see communicators.h.
#include "probe/hooks/communicators.h"

#include <atomic>

#include "format/record.h"
#include "probe/record/thread.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"

namespace hostprobe::probe {
namespace {

struct alignas(64) Communicator {
  std::atomic<const void*> handle;  // nullptr: free
  std::uint64_t id;
  std::int32_t rank, size;
  std::atomic<std::uint32_t> collectives;
  std::atomic<std::uint32_t> messages;
  std::atomic<std::uint32_t> children;  // splits, shrinks and grows so far
  bool made_unseen;
};

constexpr unsigned kBits = 9;
constexpr unsigned kProbes = 32;
constexpr Member kUnknown{0, -1, -1, false};
HP_OF_PROCESS constinit Communicator g_communicators[1u << kBits]{};
HP_OF_PROCESS std::atomic<std::uint32_t> g_groups{0};
HP_OF_PROCESS std::atomic<std::uint32_t> g_unseen{0};

Communicator& slot_of(const void* handle, unsigned probe) {
  auto key = reinterpret_cast<std::uint64_t>(handle) * 0x9e3779b97f4a7c15u >> (64 - kBits);
  return g_communicators[(key + probe) % (1u << kBits)];
}

Communicator* find(const void* handle) {
  if (handle == nullptr) return nullptr;
  for (unsigned probe = 0; probe < kProbes; ++probe) {
    Communicator& slot = slot_of(handle, probe);
    if (slot.handle.load(std::memory_order_acquire) == handle) return &slot;
  }
  return nullptr;
}

// nullptr: there is none, or the table is full.
Communicator* add(const void* handle, const Member& member) {
  if (handle == nullptr) return nullptr;
  // A new one at the address of one whose end was not seen.
  if (Communicator* old = find(handle)) old->handle.store(nullptr, std::memory_order_release);
  static const char claimed = 0;
  for (unsigned probe = 0; probe < kProbes; ++probe) {
    Communicator& slot = slot_of(handle, probe);
    const void* none = nullptr;
    if (!slot.handle.compare_exchange_strong(none, &claimed, std::memory_order_acq_rel)) continue;
    slot.id = member.id;
    slot.rank = member.rank;
    slot.size = member.size;
    slot.made_unseen = member.made_unseen;
    slot.collectives.store(0, std::memory_order_relaxed);
    slot.messages.store(0, std::memory_order_relaxed);
    slot.children.store(0, std::memory_order_relaxed);
    slot.handle.store(handle, std::memory_order_release);
    return &slot;
  }
  return nullptr;
}

Member member_of(const Communicator* known) {
  return known == nullptr ? kUnknown : Member{known->id, known->rank, known->size, known->made_unseen};
}

// One in use whose making was not seen gets an id that no other process computes.
Communicator* find_or_add(const void* handle) {
  if (Communicator* known = find(handle)) return known;
  std::uint64_t id = mix(mix(mix(kFirstId, reinterpret_cast<std::uint64_t>(handle)), ticks()),
                         g_unseen.fetch_add(1, std::memory_order_relaxed));
  return add(handle, {id, -1, -1, true});
}

}  // namespace

NcclOperation track_operation(bool taken, const void* handle, bool message) {
  std::uint32_t group = t_local.nccl_depth > 0 ? t_local.nccl_group : 0;
  Communicator* known = taken ? find_or_add(handle) : find(handle);
  if (known == nullptr || !taken) return {member_of(known), 0, group};
  std::atomic<std::uint32_t>& count = message ? known->messages : known->collectives;
  return {member_of(known), count.fetch_add(1, std::memory_order_relaxed) + 1, group};
}

NcclOperation next_collective(const void* handle) {
  const Communicator* known = find(handle);
  if (known == nullptr || known->made_unseen) return {kUnknown, 0, 0};
  return {member_of(known), known->collectives.load(std::memory_order_relaxed) + 1, 0};
}

NcclGroup track_group_start(bool taken) {
  if (taken && t_local.nccl_depth++ == 0)
    t_local.nccl_group = (g_groups.fetch_add(1, std::memory_order_relaxed) & kNcclGroupMask) + 1;
  return {t_local.nccl_group, t_local.nccl_depth};
}

NcclGroup track_group_end() {
  NcclGroup group{t_local.nccl_group, t_local.nccl_depth};
  if (t_local.nccl_depth > 0) --t_local.nccl_depth;
  return group;
}

Member track_made(const void* handle, std::uint64_t id, int rank, int size) {
  Member member{handle == nullptr ? 0 : id, rank, size, false};
  add(handle, member);
  return member;
}

Member track_made_all(const void* const* handles, int count) {
  if (handles == nullptr) return {0, -1, count, false};
  std::uint64_t id = mix(mix(kFirstId, reinterpret_cast<std::uint64_t>(handles)), ticks());
  for (int rank = 0; rank < count; ++rank) add(handles[rank], {id, rank, count, false});
  return {id, -1, count, false};
}

Member track_child(const void* handle, const void* parent, std::uint64_t how) {
  Communicator* known = find_or_add(parent);
  std::uint32_t number = known == nullptr ? 0 : known->children.fetch_add(1, std::memory_order_relaxed) + 1;
  std::uint64_t id = mix(mix(mix(kFirstId, member_of(known).id), number), how);
  Member member{handle == nullptr ? 0 : id, -1, -1, member_of(known).made_unseen};
  add(handle, member);
  return member;
}

Member track_use(const void* handle, bool is_gone) {
  Communicator* known = find(handle);
  Member member = member_of(known);
  if (known != nullptr && is_gone) known->handle.store(nullptr, std::memory_order_release);
  return member;
}

void note_member(const void* handle, int rank, int size) {
  if (Communicator* known = find(handle)) {
    known->rank = rank;
    known->size = size;
  }
}

Member widest_membership() {
  Member widest{0, -1, 0, false};
  for (const Communicator& slot : g_communicators) {
    if (slot.handle.load(std::memory_order_acquire) == nullptr || slot.made_unseen || slot.rank < 0) continue;
    if (slot.size > widest.size || (slot.size == widest.size && slot.id < widest.id)) widest = member_of(&slot);
  }
  return widest;
}

std::uint64_t mix(std::uint64_t id, const void* bytes, std::uint64_t count) {
  auto* at = static_cast<const unsigned char*>(bytes);
  for (std::uint64_t i = 0; i < count; ++i) id = (id ^ at[i]) * 0x100000001b3u;
  return id;
}

}  // namespace hostprobe::probe
