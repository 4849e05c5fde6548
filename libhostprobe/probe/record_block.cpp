// record_block.cpp: see record_block.h. With HOSTPROBE_COMPRESS=none records are copied as they are, a block per chunk.
#include "record_block.h"

#include <string.h>

#include "compress.h"
#include "hook_table.h"
#include "options.h"
#include "pack.h"
#include "trace_file.h"

namespace hostprobe::probe {
namespace {

enum Compress : std::uint64_t { kZstd = 0, kFast = 1, kNone = 2 };  // as options.def counts them

constexpr std::uint32_t kRoom = 256u << 10;  // 32 bytes a record; what does not become that small stays as it is
alignas(64) Record g_records[kChunkRecords];
alignas(64) char g_stored[sizeof(PackedHead) + kRoom];
Packer g_packer;

bool append_raw(RecordsHead& head) {
  iovec parts[] = {{&head, sizeof head}, {g_records, head.count * sizeof(Record)}};
  return append_block(kBlockRecords, parts, 2);
}

// Padding is there to overwrite: rows are followed by what finish() moved away.
bool append_packed(RecordsHead& head) {
  PackedRows rows = g_packer.finish();
  PackedHead packed{rows.times_bytes, rows.rest_bytes, rows.size, kCodecNone, 0};
  char* bytes = rows.bytes;
  if (g_options.compress == kZstd) {
    if (std::size_t used = compress(rows.bytes, rows.size, g_stored, sizeof g_stored - 8)) {
      bytes = g_stored;
      packed.stored_bytes = static_cast<std::uint32_t>(used);
      packed.codec = kCodecZstd;
    }
  }
  std::size_t whole = (packed.stored_bytes + std::size_t{7}) / 8 * 8;
  memset(bytes + packed.stored_bytes, 0, whole - packed.stored_bytes);
  iovec parts[] = {{&head, sizeof head}, {&packed, sizeof packed}, {bytes, whole}};
  return append_block(kBlockPackedRecords, parts, 3);
}

}  // namespace

bool is_complete(const Record& r, std::uint16_t lap) {
  std::uint64_t last = __atomic_load_n(reinterpret_cast<const std::uint64_t*>(&r.hook), __ATOMIC_ACQUIRE);
  return (last & 0xffff) != 0 && static_cast<std::uint16_t>(last >> 16) == lap;
}

bool RecordBlock::continued_by(const ChunkHead& chunk, std::uint32_t slots) const {
  return g_options.compress != kNone && chunk_count_ < kMostChunks && head_.slots + slots <= kPackedMost &&
         head_.count == head_.slots && head_.tid == chunk.tid && head_.thread_start_ticks == chunk.thread_start_ticks &&
         head_.first_sequence + head_.slots == chunk.first_sequence + chunk.drained;
}

void RecordBlock::take(const Record& record) {
  if (g_options.compress == kNone)
    g_records[head_.count] = record;
  else
    g_packer.add(record);
  ++head_.count;
}

void RecordBlock::add(ChunkHead* chunk, std::uint32_t end) {
  if (end <= chunk->drained) return;
  std::uint32_t slots = end - chunk->drained;
  if (chunk_count_ != 0 && !continued_by(*chunk, slots)) write();
  if (chunk_count_ == 0) {
    head_ = {chunk->thread_start_ticks, chunk->first_sequence + chunk->drained, chunk->tid, 0, 0, 0};
    g_packer.begin();
  }
  const auto* records = reinterpret_cast<const Record*>(chunk + 1);
  for (std::uint32_t i = chunk->drained; i < end; ++i)
    if (is_complete(records[i], chunk->lap)) take(records[i]);
  head_.slots += slots;
  chunks_[chunk_count_] = chunk;
  ends_[chunk_count_++] = end;
}

void RecordBlock::write() {
  if (chunk_count_ == 0) return;
  if (!write_hook_table() || !(g_options.compress == kNone ? append_raw(head_) : append_packed(head_))) {
    g_header.lost_in_file += head_.count;
    lost_ += head_.count;
  }
  lost_ += head_.slots - head_.count;
  slots_ += head_.slots;
  for (std::uint32_t i = 0; i < chunk_count_; ++i) chunks_[i]->drained = ends_[i];
  chunk_count_ = 0;
}

void RecordBlock::forget() {
  chunk_count_ = 0;
  slots_ = lost_ = 0;
  forget_compression();
}

}  // namespace hostprobe::probe
