// The shared memory of one communicator: all that its ranks tell each other once they have met. One memfd, made by rank 0,
// mapped by every rank; pages are only there where something was written.
//
//   | Header | RankBlock × n | Channel × n × n | chunks: n inputs × 8 | 8 results | p2p: n × n × 8 |
//
// Nothing in it is a lock: a rank that dies leaves counters that no longer move, never a held mutex. All counts only grow.
#pragma once
#include "nccl_types.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace simnode::nccl {

constexpr unsigned kSlots = 8;  // chunks in flight, as NCCL_STEPS
constexpr size_t kExchangeBytes = 256;
constexpr unsigned kInvites = 8;

// A count that all ranks raise, and the latest virtual time that any of them has told with it.
struct alignas(64) Milestone {
  std::atomic<uint64_t> count;
  std::atomic<int64_t> latest_ns;

  // Returns the new count. The time is told before the count, so who sees the count sees the time.
  uint64_t raise(int64_t at_ns) {
    int64_t seen = latest_ns.load(std::memory_order_relaxed);
    while (seen < at_ns && !latest_ns.compare_exchange_weak(seen, at_ns, std::memory_order_relaxed)) continue;
    return count.fetch_add(1, std::memory_order_acq_rel) + 1;
  }
};

struct ChunkSlot {
  Milestone published, reduced, consumed;
};

// What a rank says it is about to do; all must say the same.
struct Signature {
  uint32_t kind, type, op, root;
  uint64_t count;
};

// An id for a communicator that is to be made out of this one (split, shrink).
struct Invite {
  std::atomic<uint64_t> number;
  uint64_t key;  // for which ranks
  ncclUniqueId id;
};

struct Header {
  uint32_t magic;
  int ranks;
  uint64_t chunk_bytes, p2p_chunk_bytes;
  std::atomic<uint32_t> failed;  // an ncclResult_t that ended the communicator for all
  std::atomic<int> failed_rank;
  alignas(64) std::atomic<uint32_t> gathered;  // for barriers of the host
  std::atomic<uint32_t> generation;
  Milestone connected;
  Milestone begun[2];  // a rank is never two operations ahead
  ChunkSlot chunks[kSlots];
  Invite growth;
};

struct alignas(64) RankBlock {
  std::atomic<uint32_t> bell;  // raised when something happened that this rank may wait for
  std::atomic<uint32_t> sleeping;
  std::atomic<uint32_t> left;  // destroyed, finalised or aborted: its sockets may close
  std::atomic<uint32_t> revoked;
  int pid, world_rank, host, device;
  Signature signatures[2];
  Invite invites[kInvites];
  alignas(64) char exchange[kExchangeBytes];
};

// One direction between two ranks.
struct alignas(64) Channel {
  std::atomic<uint32_t> sender_ready, receiver_ready;
  alignas(64) std::atomic<uint64_t> written;  // chunks
  std::atomic<int64_t> written_ns[kSlots];
  uint64_t message_bytes[kSlots];
  uint32_t message_type[kSlots];
  alignas(64) std::atomic<uint64_t> read;
  std::atomic<int64_t> read_ns[kSlots];
};

class Segment {
 public:
  ~Segment();
  // Rank 0. False: errno says why.
  bool create(int ranks, size_t chunk_bytes, size_t p2p_chunk_bytes);
  // The others; takes the descriptor over.
  bool open(int fd);
  int fd() const { return fd_; }

  Header& header() const { return *reinterpret_cast<Header*>(base_); }
  RankBlock& rank(int rank) const;
  Channel& channel(int from, int to) const;
  char* input(int rank, uint64_t chunk) const;
  char* result(uint64_t chunk) const;
  char* message(int from, int to, uint64_t chunk) const;

  // Wakes the rank if it sleeps; what it is to see must have been written before.
  void ring(int rank) const;
  void ring_all() const;
  // Sleeps until rung or until the moment has passed. `seen` is the bell as it was before the caller looked around.
  void sleep(int rank, uint32_t seen, int64_t until_ns) const;
  // Marks the communicator as ended by this rank's failure, once, and wakes everybody.
  void mark_failed(ncclResult_t why, int rank) const;

 private:
  bool map();
  char* base_ = nullptr;
  size_t bytes_ = 0;
  int fd_ = -1;
};

// Futexes between processes.
void shared_wait(std::atomic<uint32_t>& word, uint32_t expected, int64_t until_ns);
void shared_wake(std::atomic<uint32_t>& word);

}  // namespace simnode::nccl
