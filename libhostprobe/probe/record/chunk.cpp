// chunk.cpp: where chunks live and how they change hands. See chunk.h, docs/decisions/0002-where-chunks-live.md.
//
// The segment is System V shared memory: it outlives the process like a file in /dev/shm, but it is not limited by the
// size of /dev/shm (64 MiB in a container, and PyTorch's data loaders need that), not by RLIMIT_FSIZE, and unlike a file
// on disk it is never under write-back, which stalls stores.
#include "probe/record/chunk.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <unistd.h>

#include <atomic>
#include <new>

#if __has_include("concurrentqueue/moodycamel/concurrentqueue.h")  // where Debian 13 has it
// All producers have tokens, so the queue need not hear of a thread's end: that would be a std::mutex, which needs libstdc++, and a
// destructor in each thread. The header leaves it out where thread_local is known to be broken, which is asked once, by these names.
#define __MINGW32__
#define __WINPTHREADS_VERSION
#include "concurrentqueue/moodycamel/concurrentqueue.h"
#undef __WINPTHREADS_VERSION
#undef __MINGW32__
#else
#include "concurrentqueue/concurrentqueue.h"
#endif
#include "probe/runtime/arena.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/runtime/say.h"

namespace hostprobe::probe {

HP_OF_PROCESS constinit Segment g_segment{};
HP_OF_PROCESS std::atomic<std::uint32_t> g_free_entries{0};

namespace {

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

HP_OF_PROCESS Queue* g_full = nullptr;
HP_OF_PROCESS Queue* g_free = nullptr;
// One per thread entry, made when a thread with this entry hands over its first chunk: most entries never have one.
struct FullToken {
  alignas(moodycamel::ProducerToken) char token[sizeof(moodycamel::ProducerToken)];
  bool made;
};
HP_OF_PROCESS FullToken* g_full_tokens = nullptr;
HP_OF_PROCESS ThreadNote* g_notes = nullptr;
HP_OF_PROCESS moodycamel::ConsumerToken* g_full_reader = nullptr;  // the writer's
HP_OF_PROCESS moodycamel::ProducerToken* g_free_token =
    nullptr;  // the writer's; before it runs, the activating thread's
HP_OF_PROCESS std::atomic<std::uint32_t> g_free_count{0};
HP_OF_PROCESS std::atomic<std::uint32_t> g_full_count{0};

// Where the segment was of the process that this one was forked from, and where its own comes to lie. Nothing is there.
struct Vacated {
  void* memory;
  std::size_t bytes;
};
HP_KEPT_BY_CHILDREN Vacated g_vacated{};

struct Sizes {
  std::uint32_t threads;
  std::uint32_t shorts;
  std::uint32_t counters;
  std::uint32_t chunks;

  std::size_t segment_bytes() const {
    return 4096 + sizeof(ThreadEntry) * threads + sizeof(StackEntry) * kStacks +
           sizeof(SiteCounter) * (shorts + counters) + (kStringsBytes + 64) + std::size_t{chunks} * kChunkBytes;
  }
};

Sizes sizes_wanted() {
  std::uint64_t bytes = g_options.buffer_mb << 20;
  if (g_options.mode == kFlight) bytes += g_options.flight_mb << 20;
  bool limited = address_space_is_limited();
  if (limited && bytes > kLimitedBytes) bytes = kLimitedBytes;
  std::uint32_t counters = g_options.mode == kTrace ? 0 : kCounters;
  return {limited ? kFewThreads : kThreads, limited ? kShorts / 32 : kShorts, limited ? counters / 32 : counters,
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
  void* place = g_vacated.bytes >= bytes ? g_vacated.memory : nullptr;
  g_vacated = {};
  if (id >= 0) {
    void* memory = shmat(id, place, place == nullptr ? 0 : SHM_REMAP);
    if (memory != reinterpret_cast<void*>(-1)) return memory;
    shmctl(id, IPC_RMID, nullptr);
    id = -1;
  }
  int fixed = place == nullptr ? 0 : MAP_FIXED;
  void* memory = mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | fixed, -1, 0);
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
  header->stacks_offset = header->threads_offset + sizeof(ThreadEntry) * sizes.threads;
  header->shorts_offset = header->stacks_offset + sizeof(StackEntry) * kStacks;
  header->sums_offset = header->shorts_offset + sizeof(SiteCounter) * sizes.shorts;
  header->strings_offset = header->sums_offset + sizeof(SiteCounter) * sizes.counters;
  header->chunks_offset = header->strings_offset + kStringsBytes + 64;
  header->thread_count = sizes.threads;
  header->stack_count = kStacks;
  header->short_count = sizes.shorts;
  header->sum_count = sizes.counters;
  header->strings_bytes = kStringsBytes;
  header->chunk_count = sizes.chunks;
  header->chunk_bytes = kChunkBytes;
  header->clock = read_clock_pair();
  char* base = static_cast<char*>(memory);
  g_segment = {header,
               reinterpret_cast<ThreadEntry*>(base + header->threads_offset),
               reinterpret_cast<StackEntry*>(base + header->stacks_offset),
               reinterpret_cast<SiteCounter*>(base + header->shorts_offset),
               reinterpret_cast<SiteCounter*>(base + header->sums_offset),
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
bool make_queues(std::uint32_t threads, std::uint32_t chunks) {
  std::size_t spare = chunks < 64 ? chunks * std::size_t{1024} : std::size_t{512} << 10;
  std::size_t bytes = std::size_t{threads} * (1536 + sizeof(ThreadNote)) + std::size_t{chunks} * 256 + spare;
  if (!arena_make(bytes)) return false;
  // A small initial pool: every producer's index would be made as large as the pool.
  g_full = make<Queue>(8 * QueueTraits::BLOCK_SIZE);
  g_free = make<Queue>(8 * QueueTraits::BLOCK_SIZE);
  g_full_tokens = static_cast<FullToken*>(arena_take(sizeof(FullToken) * threads));
  g_notes = static_cast<ThreadNote*>(arena_take(sizeof(ThreadNote) * threads));
  if (g_full == nullptr || g_free == nullptr || g_full_tokens == nullptr || g_notes == nullptr) return false;
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

// nullptr: no memory. By the thread that has the entry, one after the other.
moodycamel::ProducerToken* full_token_of(std::uint32_t thread) {
  FullToken& place = g_full_tokens[thread];
  auto* token = reinterpret_cast<moodycamel::ProducerToken*>(place.token);
  if (!place.made) new (token) moodycamel::ProducerToken(*g_full);
  place.made = token->valid();
  return place.made ? token : nullptr;
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

namespace {

bool has_our_cookie(const void* memory) {
  auto* header = static_cast<const SegmentHeader*>(memory);
  return header->magic == kSegmentMagic && header->cookie == g_segment.header->cookie;
}

// Whether our id still names our segment. Ids are numbers of an IPC namespace, and a thread may have gone to another one,
// where the same number is the program's own segment. That one is not attached even for a moment: size and creator differ.
bool id_is_ours() {
  shmid_ds status{};
  if (shmctl(g_segment.id, IPC_STAT, &status) != 0 || status.shm_segsz != g_segment.header->segment_bytes ||
      status.shm_cpid != static_cast<pid_t>(g_segment.header->pid))
    return false;
  void* memory = shmat(g_segment.id, nullptr, SHM_RDONLY);
  if (memory == reinterpret_cast<void*>(-1)) return errno == ENOMEM;  // no address space left to look at it
  bool ours = has_our_cookie(memory);
  shmdt(memory);
  return ours;
}

}  // namespace

void remove_segment() {
  if (g_segment.id < 0 || g_segment.header == nullptr) return;
  int saved = errno;
  if (id_is_ours() && shmctl(g_segment.id, IPC_RMID, nullptr) == 0) g_segment.id = -1;
  errno = saved;
}

namespace {

// Pages of zeros are what the other segment has anyway, without memory.
void copy_pages(char* to, const char* from, std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  for (std::size_t at = 0; at < bytes; at += kPage) {
    const std::size_t length = bytes - at < kPage ? bytes - at : kPage;
    const char* page = from + at;
    if (page[0] != 0 || memcmp(page, page + 1, length - 1) != 0) memcpy(to + at, page, length);
  }
}

bool move_to_segment(int id) {
  void* copy = shmat(id, nullptr, 0);
  if (copy == reinterpret_cast<void*>(-1)) return false;
  const std::uint32_t ready = std::atomic_ref(g_segment.header->chunks_ready).load(std::memory_order_acquire);
  copy_pages(static_cast<char*>(copy), reinterpret_cast<const char*>(g_segment.header),
             g_segment.header->chunks_offset + std::size_t{ready} * kChunkBytes);
  const bool is_there = shmat(id, g_segment.header, SHM_REMAP) == g_segment.header;
  shmdt(copy);
  return is_there;
}

}  // namespace

bool renew_segment() {
  if (g_segment.id >= 0 || g_segment.header == nullptr || segments_are_scarce()) return false;
  const int id = shmget(IPC_PRIVATE, g_segment.header->segment_bytes, IPC_CREAT | 0600);
  if (id < 0) return false;
  if (move_to_segment(id))
    g_segment.id = id;
  else
    shmctl(id, IPC_RMID, nullptr);
  return g_segment.id >= 0;
}

// Of the effective user alone it is known for certain that he may become who he was or will be.
static bool can_be_undone(const ipc_perm& owners, std::uint32_t user) {
  uid_t real = 0, effective = 0, saved = 0;
  getresuid(&real, &effective, &saved);
  return effective == 0 || effective == owners.cuid || user == real || user == saved;
}

bool give_segment_to(std::uint32_t user, std::uint32_t& before) {
  if (g_segment.id < 0 || g_segment.header == nullptr) return false;
  shmid_ds status{};
  if (shmctl(g_segment.id, IPC_STAT, &status) != 0) return false;
  before = status.shm_perm.uid;
  if (user == before || !can_be_undone(status.shm_perm, user) || !id_is_ours()) return false;
  status.shm_perm.uid = user;
  return shmctl(g_segment.id, IPC_SET, &status) == 0;
}

bool address_space_is_limited() {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

bool make_segment(std::uint32_t first_chunks) {
  Sizes sizes = sizes_wanted();
  int id = -1;
  void* memory = map_segment(sizes.segment_bytes(), id);
  if (memory == nullptr) {
    say("no %zu KiB of shared memory (%s): nothing is recorded; lower HOSTPROBE_BUFFER_MB or raise the limit",
        sizes.segment_bytes() >> 10, strerrordesc_np(errno));
    return false;
  }
  bool many_threads = first_chunks >= kFirstChunks;
  prefault(static_cast<char*>(memory), 4096 + (many_threads ? sizeof(ThreadEntry) * kFewThreads : 4096));
  lay_out(memory, id, sizes);
  if (!make_queues(sizes.threads, sizes.chunks)) {
    say("no memory for the queues: nothing is recorded; raise the address space limit");
    remove_segment();
    forget_segment();
    return false;
  }
  add_chunks(first_chunks);
  return true;
}

ChunkHead* chunk_at(std::uint32_t index) {
  return reinterpret_cast<ChunkHead*>(g_segment.chunks + std::size_t{index} * kChunkBytes);
}

std::uint32_t chunk_index(const ChunkHead* chunk) {
  return static_cast<std::uint32_t>((reinterpret_cast<const char*>(chunk) - g_segment.chunks) / kChunkBytes);
}

ThreadNote& note_of(std::uint32_t thread) { return g_notes[thread]; }
std::uint32_t thread_of(const ThreadNote& note) { return static_cast<std::uint32_t>(&note - g_notes); }

std::uint32_t threads_used() { return std::atomic_ref(g_segment.header->threads_used).load(std::memory_order_acquire); }

void count_loss(LossCause cause, std::uint64_t records) {
  SegmentHeader* header = g_segment.header;
  if (header == nullptr) return;
  std::atomic_ref(header->lost_by[cause]).fetch_add(records, std::memory_order_relaxed);
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
  chunk->drained = chunk->aggregated = 0;
  std::atomic_ref(chunk->state).store(kChunkFilling, std::memory_order_release);
  return chunk;
}

bool hand_over(std::uint32_t thread, ChunkHead* chunk) {
  std::atomic_ref(chunk->state).store(kChunkFull, std::memory_order_release);
  g_full_count.fetch_add(1, std::memory_order_relaxed);
  moodycamel::ProducerToken* token = full_token_of(thread);
  if (token != nullptr && g_full->enqueue(*token, chunk_index(chunk))) return true;
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
  g_full = g_free = nullptr;
  g_full_tokens = nullptr;
  g_notes = nullptr;
  g_free_entries.store(0, std::memory_order_relaxed);
  g_full_reader = nullptr;
  g_free_token = nullptr;
  g_free_count.store(0, std::memory_order_relaxed);
  g_full_count.store(0, std::memory_order_relaxed);
}

// What is mapped in its place costs nothing as long as nobody writes there.
void leave_segment(bool pointed_into) {
  if (g_segment.header == nullptr) return;
  std::size_t bytes = g_segment.header->segment_bytes;
  void* memory = mmap(g_segment.header, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  bool free_for_use = memory != MAP_FAILED && !pointed_into;
  if (free_for_use) g_vacated = {memory, bytes};
  arena_leave(free_for_use);
}

}  // namespace hostprobe::probe
