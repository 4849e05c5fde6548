// dump_chunks.cpp: see dump_chunks.h.
#include "probe/writer/dump_chunks.h"

#include "probe/record/chunk.h"
#include "probe/runtime/of_process.h"
#include "probe/writer/counters/thread_entries.h"
#include "probe/writer/file/record_block.h"
#include "probe/writer/flight.h"

namespace hostprobe::probe {
namespace {

HP_OF_RECORDING RecordBlock g_dump_block;

void dump_kept_chunks(DumpFile& dump) {
  ChunkHead* chunks[RecordBlock::kMostChunks];
  std::uint32_t count = 0;
  do {
    count = 0;
    while (count < RecordBlock::kMostChunks && (chunks[count] = take_oldest_chunk()) != nullptr) ++count;
    sort_by_thread(chunks, count);
    for (std::uint32_t i = 0; i < count; ++i) dump.aggregate(chunks[i], last_complete(chunks[i]));
    for (std::uint32_t i = 0; i < count; ++i) g_dump_block.add(chunks[i], last_complete(chunks[i]));
    g_dump_block.write();
    for (std::uint32_t i = 0; i < count; ++i) recycle_chunk(chunks[i]);
  } while (count == RecordBlock::kMostChunks);
}

void dump_open_chunks(DumpFile& dump) {
  for (std::uint32_t i = 0, used = threads_used(); i < used; ++i) {
    ChunkHead* chunk = open_chunk_of(g_segment.threads[i]);
    if (chunk == nullptr) continue;
    std::uint32_t end = first_incomplete(chunk);
    dump.aggregate(chunk, end);
    g_dump_block.add(chunk, end);
    g_dump_block.write();
  }
}

}  // namespace

std::uint64_t dump_chunks(DumpFile& dump) {
  g_dump_block.add_flags(kRecordAggregated);
  const std::uint64_t before = g_dump_block.slots() - g_dump_block.lost();
  dump_kept_chunks(dump);
  dump_open_chunks(dump);
  return g_dump_block.slots() - g_dump_block.lost() - before;
}

}  // namespace hostprobe::probe
