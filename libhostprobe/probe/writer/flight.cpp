// flight.cpp: see flight.h.
#include "probe/writer/flight.h"

#include "probe/record/chunk.h"
#include "probe/record/limits.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/sources/hang.h"
#include "probe/writer/counters/aggregate.h"
#include "probe/writer/file/record_block.h"

namespace hostprobe::probe {

namespace {

// A list through ChunkHead::next, index plus 1.
HP_OF_RECORDING std::uint32_t g_oldest = 0;
HP_OF_RECORDING std::uint32_t g_newest = 0;
HP_OF_RECORDING std::uint32_t g_kept = 0;

std::uint64_t most_kept() {
  std::uint64_t wanted = (g_options.flight_mb << 20) / kChunkBytes;
  std::uint64_t half = g_segment.header->chunk_count / 2;
  return g_segment.header->chunk_count > wanted + half / 2 ? wanted : half;
}

bool is_too_old(const ChunkHead* chunk, std::uint64_t now) {
  std::uint32_t end = last_complete(chunk);
  if (end == 0) return true;
  std::uint64_t newest = reinterpret_cast<const Record*>(chunk + 1)[end - 1].end_ticks;
  // What came before a hang is kept until somebody had the time to notice it.
  std::uint64_t second = g_limits.flight_ticks / (g_options.flight_s == 0 ? 1 : g_options.flight_s);
  std::uint64_t most = g_limits.flight_ticks + quiet_ns() / 1000000000u * second;
  return now > newest && now - newest > most;
}

}  // namespace

void keep_chunk(ChunkHead* chunk) {
  chunk->next = 0;
  std::uint32_t index = chunk_index(chunk) + 1;
  if (g_newest != 0)
    chunk_at(g_newest - 1)->next = index;
  else
    g_oldest = index;
  g_newest = index;
  ++g_kept;
}

ChunkHead* take_oldest_chunk() {
  if (g_oldest == 0) return nullptr;
  ChunkHead* chunk = chunk_at(g_oldest - 1);
  g_oldest = chunk->next;
  if (g_oldest == 0) g_newest = 0;
  --g_kept;
  return chunk;
}

void age_kept_chunks() {
  std::uint64_t now = ticks(), most = most_kept();
  while (g_kept > most || (g_oldest != 0 && is_too_old(chunk_at(g_oldest - 1), now))) {
    ChunkHead* chunk = take_oldest_chunk();
    aggregate(chunk, last_complete(chunk));
    recycle_chunk(chunk);
  }
}

}  // namespace hostprobe::probe
