// communicators.h: what the probe knows of NCCL's communicators: an id that all ranks agree on, rank, size, and how many
// operations were called on it.
//
// Room 2 (probe/). Written when communicators are made and destroyed, looked up by every NCCL call on the program's
// threads: one multiply, usually one compare. The ids are computed from what all ranks pass in (the unique id, the parent
// and the color, …), so that traces of different ranks can be put together without a word between them.
#pragma once

#include <atomic>
#include <cstdint>

namespace hostprobe::probe {

struct alignas(64) Communicator {
  std::atomic<const void*> handle;  // nullptr: free
  std::uint64_t id;
  std::int32_t rank, size;
  std::atomic<std::uint32_t> collectives;  // of those that all ranks call in the same order
  std::atomic<std::uint32_t> messages;     // sends and receives
  std::atomic<std::uint32_t> children;     // splits, shrinks and grows so far
};

// nullptr: not known (it was made before recording began, or the table is full).
Communicator* find_communicator(const void* handle);
void note_communicator(const void* handle, std::uint64_t id, int rank, int size);
void forget_communicator(const void* handle);
void forget_communicators();

// FNV-1a over bytes, and on from an earlier value.
std::uint64_t mix(std::uint64_t id, const void* bytes, std::uint64_t count);
inline std::uint64_t mix(std::uint64_t id, std::uint64_t value) { return mix(id, &value, sizeof value); }

}  // namespace hostprobe::probe
