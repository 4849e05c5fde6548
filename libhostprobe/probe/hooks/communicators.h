// communicators.h: what the probe knows of NCCL's communicators and groups: an id that all ranks agree on, rank, size, and
// how many operations were called.
//
// Room 2 (probe/). Kept by every call of NCCL, also while nothing is recorded: a number that drifted would break every
// statement across ranks. One multiply, usually one compare. The ids are computed from what all ranks pass in (the unique id,
// the parent and the color, …), so that traces of different ranks can be put together without a word between them.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

// This rank's membership of a communicator.
struct Member {
  std::uint64_t id;         // 0: not known
  std::int32_t rank, size;  // -1: not known
  // Its making was not seen: numbers count from the first call that was, and the id is this process's own.
  bool made_unseen;
};
struct NcclOperation {
  Member member;
  std::uint32_t sequence;  // on its communicator; 0: the call was refused
  std::uint32_t group;     // 0: none
};
struct NcclGroup {
  std::uint32_t number, depth;
};

// `message`: sends and receives count by themselves; the others are those that all ranks call in the same order.
NcclOperation track_operation(bool taken, const void* handle, bool message);
// The collective that this communicator's next call will be; sequence 0: ranks cannot tell which it is.
NcclOperation next_collective(const void* handle);
NcclGroup track_group_start(bool taken);
NcclGroup track_group_end();

// `handle` nullptr: none was made.
Member track_made(const void* handle, std::uint64_t id, int rank, int size);
Member track_made_all(const void* const* handles, int count);
Member track_child(const void* handle, const void* parent, std::uint64_t how);
Member track_use(const void* handle, bool is_gone);
// What NCCL said about one that was made without saying it.
void note_member(const void* handle, int rank, int size);
// This process's place in the communicator that most ranks are in, of those the one with the lowest id, so that all of its ranks
// name the same one. Size below 2: there is none, or NCCL has not said yet.
Member widest_membership();

// FNV-1a over bytes, and on from an earlier value.
inline constexpr std::uint64_t kFirstId = 0xcbf29ce484222325u;
std::uint64_t mix(std::uint64_t id, const void* bytes, std::uint64_t count);
inline std::uint64_t mix(std::uint64_t id, std::uint64_t value) { return mix(id, &value, sizeof value); }

}  // namespace hostprobe::probe
