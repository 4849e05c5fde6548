// segment_copy.cpp: see segment_copy.h.
#include "segment_copy.h"

#include <sys/ipc.h>
#include <sys/shm.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

namespace hostprobe::analysis {
namespace {

// std::atomic_ref wants a mutable object although a load does not write; the mapping is read-only.
template <typename T>
T load(const T& field) {
  return std::atomic_ref<T>(const_cast<T&>(field)).load(std::memory_order_acquire);
}

class Attachment {
 public:
  explicit Attachment(int id) {
    shmid_ds status{};
    if (id < 0 || shmctl(id, IPC_STAT, &status) != 0) return;
    void* address = shmat(id, nullptr, SHM_RDONLY);
    if (address == reinterpret_cast<void*>(-1)) return;
    bytes_ = static_cast<const std::byte*>(address);
    size_ = status.shm_segsz;
  }
  ~Attachment() {
    if (bytes_ != nullptr) shmdt(bytes_);
  }
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  const std::byte* bytes() const { return bytes_; }
  std::size_t size() const { return size_; }

 private:
  const std::byte* bytes_ = nullptr;
  std::size_t size_ = 0;
};

bool fits(std::uint64_t offset, std::uint64_t count, std::uint64_t each, std::uint64_t size) {
  return offset % 8 == 0 && offset <= size && (each == 0 || count <= (size - offset) / each);
}

bool geometry_fits(const SegmentHeader& h, std::uint64_t size) {
  return h.chunk_bytes >= 2 * sizeof(Record) && h.chunk_bytes % sizeof(Record) == 0 && h.chunks_offset % 64 == 0 &&
         h.threads_offset % 64 == 0 && h.stacks_offset % 64 == 0 && h.shorts_offset % 64 == 0 &&
         fits(h.shorts_offset, h.short_count, sizeof(SiteSums), size) &&
         fits(h.threads_offset, h.thread_count, sizeof(ThreadEntry), size) &&
         fits(h.stacks_offset, h.stack_count, sizeof(StackEntry), size) &&
         fits(h.strings_offset, h.strings_bytes, 1, size) && fits(h.chunks_offset, h.chunk_count, h.chunk_bytes, size);
}

void copy_threads(const std::byte* base, SegmentCopy& copy) {
  const auto* entries = reinterpret_cast<const ThreadEntry*>(base + copy.header.threads_offset);
  for (std::uint32_t i = 0; i < copy.header.thread_count; ++i) {
    const std::uint32_t state = load(entries[i].state);
    if (state != kThreadLive && state != kThreadEnded) continue;
    ThreadEntry entry = entries[i];
    // The entry may have gone to another thread meanwhile; that thread's numbers must not pass as this one's.
    std::atomic_thread_fence(std::memory_order_acquire);
    if (load(entries[i].start_ticks) != entry.start_ticks || load(entries[i].tid) != entry.tid) continue;
    copy.threads.push_back(entry);
  }
}

void copy_stacks(const std::byte* base, SegmentCopy& copy) {
  const auto* entries = reinterpret_cast<const StackEntry*>(base + copy.header.stacks_offset);
  const std::uint32_t count = std::min(copy.header.stack_count, std::uint32_t{UINT16_MAX});
  for (std::uint32_t i = 0; i < count; ++i) {
    if (load(entries[i].ready) == 1) copy.stacks.emplace_back(i, entries[i]);
  }
}

void copy_shorts(const std::byte* base, SegmentCopy& copy) {
  const auto* entries = reinterpret_cast<const SiteSums*>(base + copy.header.shorts_offset);
  for (std::uint32_t i = 0; i < copy.header.short_count; ++i) {
    const std::uint64_t key = load(entries[i].key);
    if (key >> 48 == 0) continue;
    SiteSums sums = entries[i];
    sums.key = key;
    // Handed to another thread while we copied: then the writer has put these sums into the file.
    std::atomic_thread_fence(std::memory_order_acquire);
    if (load(entries[i].key) == key && load(entries[i].thread_start_ticks) == sums.thread_start_ticks)
      copy.shorts.push_back(sums);
  }
}

bool same_owner(const ChunkHead& chunk, const ChunkHead& before) {
  std::atomic_thread_fence(std::memory_order_acquire);
  const std::uint32_t state = load(chunk.state);
  return state != kChunkFree && load(chunk.lap) == before.lap && load(chunk.tid) == before.tid &&
         load(chunk.thread_start_ticks) == before.thread_start_ticks &&
         load(chunk.first_sequence) == before.first_sequence;
}

// A hook stores `hook` and `lap` last, in one 8-byte word; reading that word first makes the rest visible.
bool finished(const Record& record, std::uint16_t lap) { return load(record.hook) != 0 && load(record.lap) == lap; }

void copy_chunk(const std::byte* base, std::uint32_t chunk_bytes, SegmentCopy& copy) {
  const auto& chunk = *reinterpret_cast<const ChunkHead*>(base);
  if (load(chunk.state) == kChunkFree) return;
  const ChunkHead head = chunk;
  const auto* records = reinterpret_cast<const Record*>(base + sizeof(ChunkHead));
  const std::uint32_t slots = chunk_bytes / static_cast<std::uint32_t>(sizeof(Record)) - 1;
  const ThreadKey key{head.tid, head.thread_start_ticks};
  std::vector<SegmentRun> runs;
  bool in_run = false;
  SegmentRange range{key, head.first_sequence + std::min(head.drained, slots), head.first_sequence + slots, 0};
  for (std::uint32_t slot = std::min(head.drained, slots); slot < slots; ++slot) {
    if (!finished(records[slot], head.lap)) {
      in_run = false;
      continue;
    }
    if (!in_run) runs.push_back({key, head.first_sequence + slot, {}});
    in_run = true;
    const auto* bytes = reinterpret_cast<const std::byte*>(&records[slot]);
    runs.back().records.insert(runs.back().records.end(), bytes, bytes + sizeof(Record));
    ++range.finished;
  }
  // Handed on while we copied: the writer put these records into the file, which is read after the segment.
  if (!same_owner(chunk, head)) return;
  copy.ranges.push_back(range);
  std::move(runs.begin(), runs.end(), std::back_inserter(copy.runs));
}

}  // namespace

std::optional<SegmentCopy> copy_segment(std::int32_t segment_id, std::uint64_t cookie, std::string& why) {
  const Attachment segment(segment_id);
  if (segment.bytes() == nullptr) {
    why = "its shared memory is gone";
    return std::nullopt;
  }
  SegmentCopy copy;
  if (segment.size() >= sizeof(SegmentHeader)) std::memcpy(&copy.header, segment.bytes(), sizeof(SegmentHeader));
  if (copy.header.magic != kSegmentMagic || copy.header.cookie != cookie) {
    why = "its shared memory is gone (the id belongs to another segment now)";
    return std::nullopt;
  }
  if (copy.header.version != kSegmentVersion || !geometry_fits(copy.header, segment.size())) {
    why = "its shared memory has a layout that this version does not know";
    return std::nullopt;
  }
  copy_shorts(segment.bytes(), copy);
  // Threads first: their counters then never run ahead of the chunks that are copied after them.
  copy_threads(segment.bytes(), copy);
  const auto* live = reinterpret_cast<const SegmentHeader*>(segment.bytes());
  const std::uint32_t ready = std::min(load(live->chunks_ready), copy.header.chunk_count);
  for (std::uint32_t i = 0; i < ready; ++i) {
    copy_chunk(segment.bytes() + copy.header.chunks_offset + std::uint64_t{i} * copy.header.chunk_bytes,
               copy.header.chunk_bytes, copy);
  }
  // Stacks and strings last: whatever a copied record refers to is complete by now.
  copy_stacks(segment.bytes(), copy);
  const std::byte* strings = segment.bytes() + copy.header.strings_offset;
  copy.strings.assign(strings, strings + std::min(load(live->strings_used), copy.header.strings_bytes));
  copy.header.lost = load(live->lost);
  return copy;
}

}  // namespace hostprobe::analysis
