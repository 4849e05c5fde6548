// segment_copy.cpp: see segment_copy.h.
//
// While the chunks are copied, the writer goes on moving records into counters. So the counters and a second look at the heads of
// the chunks are taken together, between two batches of the writer (aggregate_serial even and the same before and after): they
// say of every record copied whether it is in those counters. A record counts once, never twice, never not at all.
#include "segment_copy.h"

#include <sys/ipc.h>
#include <sys/shm.h>
#include <time.h>

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
         fits(h.shorts_offset, h.short_count, sizeof(SiteCounter), size) && h.sums_offset % 64 == 0 &&
         fits(h.sums_offset, h.sum_count, sizeof(SiteCounter), size) &&
         fits(h.threads_offset, h.thread_count, sizeof(ThreadEntry), size) &&
         fits(h.stacks_offset, h.stack_count, sizeof(StackEntry), size) &&
         fits(h.strings_offset, h.strings_bytes, 1, size) && fits(h.chunks_offset, h.chunk_count, h.chunk_bytes, size);
}

void copy_threads(const std::byte* base, SegmentCopy& copy) {
  const auto* entries = reinterpret_cast<const ThreadEntry*>(base + copy.header.threads_offset);
  const std::uint32_t taken = load(reinterpret_cast<const SegmentHeader*>(base)->threads_used);
  const std::uint32_t used = taken == 0 ? UINT32_MAX : taken;  // 0: written before it was told
  for (std::uint32_t i = 0; i < std::min(used, copy.header.thread_count); ++i) {
    const std::uint32_t state = load(entries[i].state);
    if (state != kThreadLive && state != kThreadEnded && state != kThreadMerged) continue;
    ThreadEntry entry = entries[i];
    if (!entry.merged.holds(copy.header.merges)) continue;
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

std::vector<SiteCounter> copy_sums(const std::byte* base, std::uint64_t offset, std::uint32_t count,
                                   std::uint32_t merges) {
  std::vector<SiteCounter> copied;
  const auto* entries = reinterpret_cast<const SiteCounter*>(base + offset);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t key = load(entries[i].key);
    if (key >> 48 == 0) continue;
    SiteCounter counters = entries[i];
    counters.key = key;
    if (!counters.merged.holds(merges)) continue;
    // Handed to another thread while we copied: then the writer has put these counters into the file.
    std::atomic_thread_fence(std::memory_order_acquire);
    if (load(entries[i].key) == key && load(entries[i].thread_start_ticks) == counters.thread_start_ticks)
      copied.push_back(counters);
  }
  return copied;
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

struct ChunkCopy {
  ChunkHead head;
  std::vector<SegmentRun> runs;
  std::uint32_t index;
};

class Chunks {
 public:
  Chunks(const std::byte* base, const SegmentHeader& header)
      : base_(base + header.chunks_offset),
        count_(header.chunk_count),
        bytes_(header.chunk_bytes),
        slots_(header.chunk_bytes / static_cast<std::uint32_t>(sizeof(Record)) - 1) {}

  void copy(std::uint32_t ready) {
    for (std::uint32_t i = 0; i < std::min(ready, count_); ++i) copy_one(i);
  }

  // What is said of the copied chunks now; 0 slots aggregated of one that is not there any more, or all that were copied where
  // that means that they are in the counters.
  std::vector<std::uint32_t> look_again(bool aggregates) const {
    std::vector<std::uint32_t> aggregated;
    aggregated.reserve(copies_.size());
    for (const ChunkCopy& copy : copies_) {
      const ChunkHead& now = head_of(copy.index);
      const std::uint32_t slots = std::min(load(now.aggregated), slots_);
      aggregated.push_back(same_owner(now, copy.head) ? slots : aggregates ? used_slots(copy) : 0);
    }
    return aggregated;
  }

  void undo(const Undo& undo, std::vector<std::uint32_t>& aggregated) const {
    for (std::size_t i = 0; i < copies_.size(); ++i)
      if (copies_[i].index == undo.chunk) aggregated[i] = std::min(undo.aggregated, slots_);
  }

  void hand_over(const std::vector<std::uint32_t>& aggregated, SegmentCopy& out) {
    for (std::size_t i = 0; i < copies_.size(); ++i) hand_over(copies_[i], aggregated[i], out);
  }

 private:
  const ChunkHead& head_of(std::uint32_t index) const {
    return *reinterpret_cast<const ChunkHead*>(base_ + std::uint64_t{index} * bytes_);
  }

  // A thread that ended had not filled its chunk.
  std::uint32_t used_slots(const ChunkCopy& copy) const {
    if (copy.runs.empty()) return std::min(copy.head.aggregated, slots_);
    const SegmentRun& last = copy.runs.back();
    return static_cast<std::uint32_t>(last.first_sequence - copy.head.first_sequence +
                                      last.records.size() / sizeof(Record));
  }

  void copy_one(std::uint32_t index) {
    const ChunkHead& chunk = head_of(index);
    if (load(chunk.state) == kChunkFree) return;
    ChunkCopy copy{chunk, {}, index};
    const auto* records = reinterpret_cast<const Record*>(&chunk + 1);
    bool in_run = false;
    for (std::uint32_t slot = std::min(copy.head.drained, slots_); slot < slots_; ++slot) {
      if (!finished(records[slot], copy.head.lap)) {
        in_run = false;
        continue;
      }
      if (!in_run)
        copy.runs.push_back(
            {{copy.head.tid, copy.head.thread_start_ticks}, copy.head.first_sequence + slot, {}, false});
      in_run = true;
      const auto* bytes = reinterpret_cast<const std::byte*>(&records[slot]);
      copy.runs.back().records.insert(copy.runs.back().records.end(), bytes, bytes + sizeof(Record));
    }
    // Handed on while we copied: the writer put these records into the counters, or into the file, which is read after the
    // segment.
    if (same_owner(chunk, copy.head)) copies_.push_back(std::move(copy));
  }

  void hand_over(ChunkCopy& copy, std::uint32_t aggregated, SegmentCopy& out) const {
    const std::uint64_t first = copy.head.first_sequence, behind_sums = first + aggregated;
    const std::uint32_t settled = std::max(std::min(copy.head.drained, slots_), aggregated);
    SegmentRange range{{copy.head.tid, copy.head.thread_start_ticks}, first + settled, first + slots_, 0};
    for (SegmentRun& run : copy.runs) {
      const std::uint64_t count = run.records.size() / sizeof(Record);
      const std::uint64_t counted_too =
          behind_sums <= run.first_sequence ? 0 : std::min(behind_sums - run.first_sequence, count);
      const auto split = run.records.begin() + static_cast<std::ptrdiff_t>(counted_too * sizeof(Record));
      SegmentRun rest{run.key, run.first_sequence + counted_too, {split, run.records.end()}, false};
      run.records.erase(split, run.records.end());
      range.finished += count - counted_too;
      if (counted_too != 0) out.runs.push_back(flagged(std::move(run)));
      if (counted_too != count) out.runs.push_back(std::move(rest));
    }
    out.ranges.push_back(range);
  }

  static SegmentRun flagged(SegmentRun run) {
    for (std::size_t at = offsetof(Record, flags); at < run.records.size(); at += sizeof(Record)) {
      std::uint16_t flags;
      std::memcpy(&flags, &run.records[at], sizeof(flags));
      flags |= kRecordAggregated;
      std::memcpy(&run.records[at], &flags, sizeof(flags));
    }
    run.aggregated = true;
    return run;
  }

  const std::byte* base_;
  std::uint32_t count_;
  std::uint32_t bytes_;
  std::uint32_t slots_;
  std::vector<ChunkCopy> copies_;
};

void put_back(Spans& spans, const Undo::Before& before) {
  spans.ticks = before.ticks;
  spans.max_ticks = before.max_ticks;
  if (before.bucket < kSpanBuckets) spans.buckets[before.bucket] = before.count;
}

// The process was killed while it added a record to a row: the row becomes what it was.
void undo_row(const std::byte* base, const SegmentHeader& header, const Undo& undo,
              std::vector<SiteCounter>& counters) {
  const auto& row = reinterpret_cast<const SiteCounter*>(base + header.sums_offset)[undo.sum - 1];
  for (SiteCounter& copied : counters) {
    if (copied.key != row.key || copied.tid != row.tid || copied.thread_start_ticks != row.thread_start_ticks ||
        copied.object != row.object)
      continue;
    put_back(copied.time, undo.time);
    put_back(copied.wake, undo.wake);
    copied.waker_tid = undo.waker_tid;
    copied.amount = undo.amount;
  }
}

// Counters and heads of one moment. A live writer's batches are short, so a few looks do; of one that was killed in the middle
// of a batch the number stays odd, and what it was doing is taken back.
void copy_sums_and_chunks(const std::byte* base, Chunks& chunks, const SegmentUser& user, SegmentCopy& copy) {
  constexpr int kMostLooks = 200;
  const auto& live = *reinterpret_cast<const SegmentHeader*>(base);
  std::vector<std::uint32_t> aggregated;
  std::uint32_t before = load(live.aggregate_serial), after = before;
  bool moved = false;
  for (int look = 0; look < kMostLooks; ++look) {
    before = load(live.aggregate_serial);
    copy.counters = copy_sums(base, copy.header.sums_offset, copy.header.sum_count, copy.header.merges);
    aggregated = chunks.look_again(user.aggregates);
    std::atomic_thread_fence(std::memory_order_acquire);
    after = load(live.aggregate_serial);
    if (!user.alive || (before == after && before % 2 == 0)) break;
    moved = moved || before != after;
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
  const bool stands_still = !user.alive || (before == after && before % 2 == 1 && !moved);
  const Undo undo = live.undo;
  if (stands_still && undo.sum != 0 && undo.sum <= copy.header.sum_count) {
    undo_row(base, copy.header, undo, copy.counters);
    chunks.undo(undo, aggregated);
  }
  chunks.hand_over(aggregated, copy);
}

void copy_counts(const std::byte* base, const SegmentUser& user, SegmentCopy& copy) {
  copy.shorts = copy_sums(base, copy.header.shorts_offset, copy.header.short_count, copy.header.merges);
  // Threads first: their counters then never run ahead of the chunks that are copied after them.
  copy_threads(base, copy);
  Chunks chunks(base, copy.header);
  chunks.copy(load(reinterpret_cast<const SegmentHeader*>(base)->chunks_ready));
  copy_sums_and_chunks(base, chunks, user, copy);
}

// Entries and counters of the same moment: of a process whose threads were merged meanwhile, once more.
void copy_counts_between_merges(const std::byte* base, const SegmentUser& user, SegmentCopy& copy) {
  constexpr int kMostLooks = 20;
  const auto& live = *reinterpret_cast<const SegmentHeader*>(base);
  for (int look = 0; look < kMostLooks; ++look) {
    SegmentCopy fresh;
    fresh.header = copy.header;
    fresh.header.merges = load(live.merges);
    copy_counts(base, user, fresh);
    copy = std::move(fresh);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (load(live.merges) == copy.header.merges) return;
  }
}

}  // namespace

std::optional<SegmentCopy> copy_segment(std::int32_t segment_id, std::uint64_t cookie, const SegmentUser& user,
                                        std::string& why) {
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
  const auto* live = reinterpret_cast<const SegmentHeader*>(segment.bytes());
  copy_counts_between_merges(segment.bytes(), user, copy);
  // Stacks and strings last: whatever a copied record refers to is complete by now.
  copy_stacks(segment.bytes(), copy);
  const std::byte* strings = segment.bytes() + copy.header.strings_offset;
  copy.strings.assign(strings, strings + std::min(load(live->strings_used), copy.header.strings_bytes));
  copy.header.lost = load(live->lost);
  for (std::uint32_t i = 0; i < kLossCauses; ++i) copy.header.lost_by[i] = load(live->lost_by[i]);
  return copy;
}

}  // namespace hostprobe::analysis
