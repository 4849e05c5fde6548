// pairing.h: who woke whom, without locks and without a clock on the idle side.
//
// Room 2 (probe/). A waiter announces the address it waits on in a small table before it blocks. Whoever signals that
// address looks at one word: nobody there, nothing to do (1 load, no clock: an idle cond_signal stays free). Otherwise
// it leaves its thread id and time there *before* the real call; the waiter takes them after it woke. With several
// waiters the last post before the wake is the candidate; two addresses that share a bucket are told apart by `object`.
#pragma once

#include <atomic>

#include "probe/record/thread_local.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/compiler.h"

namespace hostprobe::probe {

struct alignas(32) Bucket {
  std::atomic<std::uint32_t> waiters;
  std::uint32_t reserved;
  std::atomic<std::uint64_t> object;
  std::atomic<std::uint64_t> post;  // pack_post(tid, ticks)
};

inline constexpr unsigned kBucketBits = 12;
extern HP_OURS constinit Bucket g_buckets[1u << kBucketBits];

inline Bucket& bucket_of(const void* object) {
  auto key = reinterpret_cast<std::uintptr_t>(object) >> 3;
  return g_buckets[(key * 0x9e3779b97f4a7c15u) >> (64 - kBucketBits)];
}

// Sequentially consistent on purpose: the announcement must be visible before the wait looks at the object, or a post
// in between would be missed.
inline void announce(Bucket& bucket) { bucket.waiters.fetch_add(1, std::memory_order_seq_cst); }
inline void withdraw(Bucket& bucket) { bucket.waiters.fetch_sub(1, std::memory_order_relaxed); }

inline void leave_post(Bucket& bucket, const void* object) {
  bucket.object.store(reinterpret_cast<std::uint64_t>(object), std::memory_order_relaxed);
  bucket.post.store(pack_post(t_local.tid, ticks()), std::memory_order_release);
}

// The post that ended a wait on `object` between the two times; 0 if none was left.
inline std::uint64_t take_post(const Bucket& bucket, const void* object, std::uint64_t begin, std::uint64_t end) {
  std::uint64_t post = bucket.post.load(std::memory_order_acquire);
  if (post == 0 || bucket.object.load(std::memory_order_relaxed) != reinterpret_cast<std::uint64_t>(object)) return 0;
  return post_ticks(post, end) >= begin ? post : 0;
}

}  // namespace hostprobe::probe
