// chunk.cpp: where chunks live and how they change hands. See chunk.h, docs/decisions/0002-where-chunks-live.md.
//
// The segment is System V shared memory: it outlives the process like a file in /dev/shm, but it is not limited by the
// size of /dev/shm (64 MiB in a container, and PyTorch's data loaders need that), not by RLIMIT_FSIZE, and unlike a file
// on disk it is never under write-back, which stalls stores.
#include "chunk.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <unistd.h>

#include <atomic>
#include <new>

#include "arena.h"
#include "clock.h"
#include "concurrentqueue/concurrentqueue.h"
#include "options.h"
#include "say.h"

namespace hostprobe::probe {

constinit Segment g_segment{};

namespace {

constexpr std::uint32_t kFirstChunks = 64;  // 1 MiB is pre-faulted at the start, the rest when it is about to be needed
constexpr std::uint32_t kSpareChunks = 32;
constexpr std::uint32_t kWakeFull = 32;  // as many as one block takes
constexpr std::uint32_t kWakeFree = 16;

// The queue's memory comes from an arena that is made with the segment: the queue never calls the program's malloc.
struct QueueTraits : moodycamel::ConcurrentQueueDefaultTraits {
  static const size_t BLOCK_SIZE = 64;
  static const size_t EXPLICIT_INITIAL_INDEX_SIZE = 16;
  static const size_t INITIAL_IMPLICIT_PRODUCER_HASH_SIZE = 0;
  static void* malloc(size_t bytes) { return arena_take(bytes); }
  static void free(void*) {}
};
using Queue = moodycamel::ConcurrentQueue<std::uint32_t, QueueTraits>;

Queue* g_full = nullptr;
Queue* g_free = nullptr;
moodycamel::ProducerToken* g_full_tokens = nullptr;  // one per thread entry
moodycamel::ConsumerToken* g_full_reader = nullptr;  // the writer's
moodycamel::ProducerToken* g_free_token = nullptr;   // the writer's; before it runs, the activating thread's
std::atomic<std::uint32_t> g_free_count{0};
std::atomic<std::uint32_t> g_full_count{0};

struct Sizes {
  std::uint32_t shorts;
  std::uint32_t sums;
  std::uint32_t chunks;

  std::size_t segment_bytes() const {
    return 4096 + sizeof(ThreadEntry) * kThreads + sizeof(StackEntry) * kStacks + sizeof(SiteSums) * (shorts + sums) +
           (kStringsBytes + 64) + std::size_t{chunks} * kChunkBytes;
  }
};

// A process with a limited address space keeps most of it for itself.
Sizes sizes_wanted() {
  std::uint64_t bytes = g_options.buffer_mb << 20;
  if (g_options.mode == kFlight) bytes += g_options.flight_mb << 20;
  rlimit limit{};
  bool limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  if (limited && bytes > (512u << 10)) bytes = 512u << 10;
  std::uint32_t sums = g_options.mode == kTrace ? 0 : kSums;
  return {limited ? kShorts / 32 : kShorts, limited ? sums / 32 : sums,
          static_cast<std::uint32_t>(bytes / kChunkBytes)};
}

// The system has a limited number of segments, for everybody, and those of killed processes stay until they are
// recovered. Beyond half of the limit a process makes do with memory that ends with it.
bool segments_are_scarce() {
  shminfo limits{};
  shm_info use{};
  return shmctl(0, IPC_INFO, reinterpret_cast<shmid_ds*>(&limits)) >= 0 &&
         shmctl(0, SHM_INFO, reinterpret_cast<shmid_ds*>(&use)) >= 0 &&
         static_cast<unsigned long>(use.used_ids) > limits.shmmni / 2;
}

void* map_segment(std::size_t bytes, int& id) {
  id = segments_are_scarce() ? -1 : shmget(IPC_PRIVATE, bytes, IPC_CREAT | 0600);
  if (id >= 0) {
    void* memory = shmat(id, nullptr, 0);
    if (memory != reinterpret_cast<void*>(-1)) return memory;
    shmctl(id, IPC_RMID, nullptr);
    id = -1;
  }
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

void prefault(char* begin, std::size_t bytes) {
  if (madvise(begin, bytes, 23 /* MADV_POPULATE_WRITE, Linux 5.14 */) == 0) return;
  for (std::size_t at = 0; at < bytes; at += 4096) *reinterpret_cast<volatile char*>(begin + at) = 0;
}

void lay_out(void* memory, int id, const Sizes& sizes) {
  auto* header = static_cast<SegmentHeader*>(memory);
  header->version = kSegmentVersion;
  header->pid = static_cast<std::uint32_t>(getpid());
  if (getrandom(&header->cookie, sizeof header->cookie, GRND_NONBLOCK) != sizeof header->cookie)
    header->cookie = ticks() * 0x9e3779b97f4a7c15u + header->pid;
  header->segment_bytes = sizes.segment_bytes();
  header->threads_offset = 4096;
  header->stacks_offset = header->threads_offset + sizeof(ThreadEntry) * kThreads;
  header->shorts_offset = header->stacks_offset + sizeof(StackEntry) * kStacks;
  header->sums_offset = header->shorts_offset + sizeof(SiteSums) * sizes.shorts;
  header->strings_offset = header->sums_offset + sizeof(SiteSums) * sizes.sums;
  header->chunks_offset = header->strings_offset + kStringsBytes + 64;
  header->thread_count = kThreads;
  header->stack_count = kStacks;
  header->short_count = sizes.shorts;
  header->sum_count = sizes.sums;
  header->strings_bytes = kStringsBytes;
  header->chunk_count = sizes.chunks;
  header->chunk_bytes = kChunkBytes;
  header->clock = read_clock_pair();
  char* base = static_cast<char*>(memory);
  g_segment = {header,
               reinterpret_cast<ThreadEntry*>(base + header->threads_offset),
               reinterpret_cast<StackEntry*>(base + header->stacks_offset),
               reinterpret_cast<SiteSums*>(base + header->shorts_offset),
               reinterpret_cast<SiteSums*>(base + header->sums_offset),
               base + header->strings_offset,
               base + header->chunks_offset,
               id};
  std::atomic_ref<std::uint64_t>(header->magic).store(kSegmentMagic, std::memory_order_release);
}

template <class T, class... Args>
T* make(Args&&... args) {
  void* place = arena_take(sizeof(T));
  return place == nullptr ? nullptr : new (place) T(static_cast<Args&&>(args)...);
}

// What the queues can ever need, in one arena: per thread a token (0.5 KiB) and blocks, per chunk a place, and spare room, of
// which a small pool has little. What they ask for later comes out of the same arena by one atomic addition.
bool make_queues(std::uint32_t chunks) {
  std::size_t spare = chunks < 64 ? chunks * std::size_t{1024} : std::size_t{512} << 10;
  std::size_t bytes = std::size_t{kThreads} * 1536 + std::size_t{chunks} * 256 + spare;
  if (!arena_make(bytes)) return false;
  // A small initial pool: every producer's index would be made as large as the pool.
  g_full = make<Queue>(8 * QueueTraits::BLOCK_SIZE);
  g_free = make<Queue>(8 * QueueTraits::BLOCK_SIZE);
  g_full_tokens = static_cast<moodycamel::ProducerToken*>(arena_take(sizeof(moodycamel::ProducerToken) * kThreads));
  if (g_full == nullptr || g_free == nullptr || g_full_tokens == nullptr) return false;
  for (std::uint32_t i = 0; i < kThreads; ++i) {
    new (&g_full_tokens[i]) moodycamel::ProducerToken(*g_full);
    if (!g_full_tokens[i].valid()) return false;
  }
  g_full_reader = make<moodycamel::ConsumerToken>(*g_full);
  g_free_token = make<moodycamel::ProducerToken>(*g_free);
  return g_full_reader != nullptr && g_free_token != nullptr && g_free_token->valid();
}

// A chunk that was never used. Threads come here too when the writer is late: page faults are better than losses.
ChunkHead* claim_new_chunk() {
  std::atomic_ref ready(g_segment.header->chunks_ready);
  std::uint32_t index = ready.load(std::memory_order_relaxed);
  do {
    if (index >= g_segment.header->chunk_count) return nullptr;
  } while (!ready.compare_exchange_weak(index, index + 1, std::memory_order_relaxed));
  return chunk_at(index);
}

void add_chunks(std::uint32_t wanted) {
  const SegmentHeader* h = g_segment.header;
  std::uint32_t first = std::atomic_ref(g_segment.header->chunks_ready).load(std::memory_order_relaxed);
  if (first + wanted > h->chunk_count) wanted = h->chunk_count - first;
  if (wanted == 0) return;
  prefault(g_segment.chunks + std::size_t{first} * kChunkBytes, std::size_t{wanted} * kChunkBytes);
  for (std::uint32_t i = 0; i < wanted; ++i)
    if (ChunkHead* chunk = claim_new_chunk()) recycle_chunk(chunk);
}

}  // namespace

bool make_segment() {
  Sizes sizes = sizes_wanted();
  int id = -1;
  void* memory = map_segment(sizes.segment_bytes(), id);
  if (memory == nullptr) {
    say("no %zu KiB of shared memory (%s): nothing is recorded; lower HOSTPROBE_BUFFER_MB or raise the limit",
        sizes.segment_bytes() >> 10, strerrordesc_np(errno));
    return false;
  }
  prefault(static_cast<char*>(memory), 4096 + sizeof(ThreadEntry) * kThreads);
  lay_out(memory, id, sizes);
  if (!make_queues(sizes.chunks)) {
    say("no memory for the queues: nothing is recorded; raise the address space limit");
    if (id >= 0) shmctl(id, IPC_RMID, nullptr);
    forget_segment();
    return false;
  }
  add_chunks(kFirstChunks);
  return true;
}

ChunkHead* chunk_at(std::uint32_t index) {
  return reinterpret_cast<ChunkHead*>(g_segment.chunks + std::size_t{index} * kChunkBytes);
}

std::uint32_t chunk_index(const ChunkHead* chunk) {
  return static_cast<std::uint32_t>((reinterpret_cast<const char*>(chunk) - g_segment.chunks) / kChunkBytes);
}

ChunkHead* take_chunk() {
  std::uint32_t index;
  ChunkHead* chunk = nullptr;
  if (g_free->try_dequeue_from_producer(*g_free_token, index)) {
    g_free_count.fetch_sub(1, std::memory_order_relaxed);
    chunk = chunk_at(index);
  } else if ((chunk = claim_new_chunk()) == nullptr) {
    return nullptr;
  }
  // After 65 536 laps the number starts again: a slot that was not reached for that long must not look new.
  if (++chunk->lap == 0) {
    memset(chunk + 1, 0, kChunkBytes - sizeof(ChunkHead));
    chunk->lap = 1;
  }
  chunk->drained = chunk->folded = 0;
  std::atomic_ref(chunk->state).store(kChunkFilling, std::memory_order_release);
  return chunk;
}

bool hand_over(std::uint32_t thread, ChunkHead* chunk) {
  std::atomic_ref(chunk->state).store(kChunkFull, std::memory_order_release);
  g_full_count.fetch_add(1, std::memory_order_relaxed);
  if (g_full->enqueue(g_full_tokens[thread], chunk_index(chunk))) return true;
  g_full_count.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

// Several at once, because each look goes through the lists of all threads; the token goes round among them.
std::uint32_t next_full_chunks(ChunkHead** chunks, std::uint32_t most) {
  std::uint32_t indices[kWakeFull];
  auto count = static_cast<std::uint32_t>(
      g_full->try_dequeue_bulk(*g_full_reader, indices, most < kWakeFull ? most : kWakeFull));
  for (std::uint32_t i = 0; i < count; ++i) chunks[i] = chunk_at(indices[i]);
  g_full_count.fetch_sub(count, std::memory_order_relaxed);
  return count;
}

bool writer_is_needed() {
  return g_full_count.load(std::memory_order_relaxed) >= kWakeFull ||
         g_free_count.load(std::memory_order_relaxed) < kWakeFree;
}

void recycle_chunk(ChunkHead* chunk) {
  std::atomic_ref(chunk->state).store(kChunkFree, std::memory_order_release);
  if (g_free->enqueue(*g_free_token, chunk_index(chunk))) g_free_count.fetch_add(1, std::memory_order_relaxed);
}

void grow_pool() {
  if (g_free_count.load(std::memory_order_relaxed) < kSpareChunks) add_chunks(kSpareChunks);
}

void forget_segment() {
  g_segment = {};
  g_segment.id = -1;
  g_full = g_free = nullptr;
  g_full_tokens = nullptr;
  g_full_reader = nullptr;
  g_free_token = nullptr;
  g_free_count.store(0, std::memory_order_relaxed);
  g_full_count.store(0, std::memory_order_relaxed);
}

}  // namespace hostprobe::probe
