// record_block.cpp: see record_block.h. With HOSTPROBE_COMPRESS=none, and where the address space is limited, records are
// copied as they are, a block per chunk.
#include "probe/writer/file/record_block.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "probe/record/chunk.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/writer/file/compress.h"
#include "probe/writer/file/hook_table.h"
#include "probe/writer/file/pack.h"
#include "probe/writer/file/trace_file.h"

namespace hostprobe::probe {

namespace {

alignas(64) HP_KEPT_BY_CHILDREN Record g_records[kChunkRecords];

// What packing needs, 2 MiB, mapped for the first block: most processes that load this library never write one.
struct Room {
  Packer packer;
  CompressMemory compress;
  alignas(8) char stored[256u << 10];  // 32 bytes a record; what does not become that small stays as it is
};
HP_KEPT_BY_CHILDREN Room* g_room = nullptr;
HP_KEPT_BY_CHILDREN bool g_room_refused = false;
HP_OF_RECORDING bool g_room_used = false;

// A process that makes a few calls and ends, as most forked children do, goes without: it costs some twenty page faults.
bool packs(std::uint32_t slots) {
  constexpr std::uint32_t kFewSlots = 16;
  if (g_options.compress == kNone || g_room_refused || (!g_room_used && slots <= kFewSlots)) return false;
  g_room_used = true;
  if (g_room != nullptr) return true;
  rlimit limit{};
  void* memory = MAP_FAILED;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY)
    memory = mmap(nullptr, sizeof(Room), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  g_room_refused = memory == MAP_FAILED;
  if (!g_room_refused) g_room = static_cast<Room*>(memory);
  return !g_room_refused;
}

bool append_raw(RecordsHead& head) {
  iovec parts[] = {{&head, sizeof head}, {g_records, head.count * sizeof(Record)}};
  return append_block(kBlockRecords, parts, 2);
}

// What is behind the rows may be overwritten: so the padding is made there.
bool append_packed(RecordsHead& head) {
  PackedRows rows = g_room->packer.finish();
  PackedHead packed{rows.times_bytes, rows.rest_bytes, rows.size, kCodecNone, 0};
  char* bytes = rows.bytes;
  if (g_options.compress == kZstd) {
    constexpr std::size_t kMost = sizeof g_room->stored - 8;
    if (std::size_t used = compress(g_room->compress, rows.bytes, rows.size, g_room->stored, kMost)) {
      bytes = g_room->stored;
      packed.stored_bytes = static_cast<std::uint32_t>(used);
      packed.codec = kCodecZstd;
    }
  }
  std::size_t whole = (packed.stored_bytes + std::size_t{7}) / 8 * 8;
  memset(bytes + packed.stored_bytes, 0, whole - packed.stored_bytes);
  iovec parts[] = {{&head, sizeof head}, {&packed, sizeof packed}, {bytes, whole}};
  return append_block(kBlockPackedRecords, parts, 3);
}

bool belongs_before(const ChunkHead& l, const ChunkHead& r) {
  if (l.tid != r.tid) return l.tid < r.tid;
  if (l.thread_start_ticks != r.thread_start_ticks) return l.thread_start_ticks < r.thread_start_ticks;
  return l.first_sequence < r.first_sequence;
}

}  // namespace

std::uint32_t last_complete(const ChunkHead* chunk) {
  const auto* slots = reinterpret_cast<const Record*>(chunk + 1);
  std::uint32_t end = kChunkRecords;
  while (end > chunk->drained && !is_complete(slots[end - 1], chunk->lap)) --end;
  return end;
}

std::uint32_t first_incomplete(const ChunkHead* chunk) {
  const auto* slots = reinterpret_cast<const Record*>(chunk + 1);
  std::uint32_t end = chunk->drained;
  while (end < kChunkRecords && is_complete(slots[end], chunk->lap)) ++end;
  return end;
}

void sort_by_thread(ChunkHead** chunks, std::uint32_t count) {
  for (std::uint32_t i = 1; i < count; ++i) {
    ChunkHead* chunk = chunks[i];
    std::uint32_t place = i;
    for (; place > 0 && belongs_before(*chunk, *chunks[place - 1]); --place) chunks[place] = chunks[place - 1];
    chunks[place] = chunk;
  }
}

bool RecordBlock::continued_by(const ChunkHead& chunk, std::uint32_t slots) const {
  return packed_ && chunk_count_ < kMostChunks && head_.slots + slots <= kPackedMost && head_.count == head_.slots &&
         head_.tid == chunk.tid && head_.thread_start_ticks == chunk.thread_start_ticks &&
         head_.first_sequence + head_.slots == chunk.first_sequence + chunk.drained;
}

void RecordBlock::take(const Record& record) {
  if (packed_)
    g_room->packer.add(record);
  else
    g_records[head_.count] = record;
  ++head_.count;
}

void RecordBlock::add(ChunkHead* chunk, std::uint32_t end) {
  if (end <= chunk->drained) return;
  std::uint32_t slots = end - chunk->drained;
  if (chunk_count_ != 0 && !continued_by(*chunk, slots)) write();
  if (chunk_count_ == 0) {
    head_ = {chunk->thread_start_ticks, chunk->first_sequence + chunk->drained, chunk->tid, 0, 0, 0};
    packed_ = packs(slots);
    if (packed_) g_room->packer.begin();
  }
  auto* records = reinterpret_cast<Record*>(chunk + 1);
  for (std::uint32_t i = chunk->drained; i < end; ++i) {
    if (!is_complete(records[i], chunk->lap)) continue;
    if (flags_ != 0) records[i].flags |= flags_;  // where it lies: packing refers to records that came before
    take(records[i]);
  }
  head_.slots += slots;
  chunks_[chunk_count_] = chunk;
  ends_[chunk_count_++] = end;
}

void RecordBlock::write() {
  if (chunk_count_ == 0) return;
  if (!write_hook_table() || !(packed_ ? append_packed(head_) : append_raw(head_))) {
    if ((flags_ & kRecordAggregated) == 0) g_header.lost_in_file += head_.count;
    lost_ += head_.count;
  }
  lost_ += head_.slots - head_.count;
  if ((flags_ & kRecordAggregated) == 0) count_loss(kLostJumpedOut, head_.slots - head_.count);
  slots_ += head_.slots;
  for (std::uint32_t i = 0; i < chunk_count_; ++i) chunks_[i]->drained = ends_[i];
  chunk_count_ = 0;
}

void drop_parents_compressor() {
  if (g_room != nullptr) g_room->compress.context = nullptr;
}

}  // namespace hostprobe::probe
