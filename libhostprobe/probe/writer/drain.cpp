// drain.cpp: see drain.h. A record is taken only when it carries the lap of its chunk: that is its mark of completeness.
#include "probe/writer/drain.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "probe/record/chunk.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/options.h"
#include "probe/sources/thread_times.h"
#include "probe/writer/consumers.h"
#include "probe/writer/counters/short_wait_rows.h"
#include "probe/writer/counters/site_rows.h"
#include "probe/writer/counters/thread_entries.h"
#include "probe/writer/file/segment_tables.h"
#include "probe/writer/flight.h"
#include "probe/writer/header_sums.h"

namespace hostprobe::probe {
namespace {

// So many full chunks that one block can hold them, and no more than a quarter of all, so that the threads do not run
// short; those of a thread side by side.
std::uint32_t take_full_chunks(ChunkHead** chunks) {
  std::uint32_t most = g_segment.header->chunk_count / 4 + 1;
  std::uint32_t count = next_full_chunks(chunks, most < RecordBlock::kMostChunks ? most : RecordBlock::kMostChunks);
  sort_by_thread(chunks, count);
  return count;
}

// A thread that ended without our seeing it (a raw exit system call, a wait after its last destructor): its chunk has no
// owner any more, and no slot that is still empty will be filled.
bool end_if_gone(ThreadEntry& entry) {
  if (syscall(SYS_tgkill, getpid(), entry.tid, 0) == 0 || errno != ESRCH) return false;
  std::uint32_t index = std::atomic_ref(entry.chunk).load(std::memory_order_acquire);
  if (index != 0) {
    ChunkHead* chunk = chunk_at(index - 1);
    hand_full_chunks(&chunk, 1);
  }
  entry.chunk = 0;
  entry.end_ticks = ticks();
  std::atomic_ref(entry.state).store(kThreadEnded, std::memory_order_release);
  return true;
}

void ask_kernel_about_threads() {
  for (std::uint32_t i = 0, end = threads_used(); i < end; ++i) {
    ThreadEntry& entry = g_segment.threads[i];
    if (is_live(entry) && !end_if_gone(entry)) read_thread_times(entry);
  }
}

}  // namespace

void drain_full_chunks() {
  ChunkHead* chunks[RecordBlock::kMostChunks];
  while (std::uint32_t count = take_full_chunks(chunks)) {
    hand_full_chunks(chunks, count);
    age_kept_chunks();
  }
}

// A thread that was just handing its chunk over when the process began to exit no longer says that it has one, and has
// not enqueued it yet. Many at once: those of a thread continue each other and make one block, which packs better and costs one write.
void drain_last_chunks() {
  constexpr std::uint32_t kTogether = 4 * RecordBlock::kMostChunks;
  ChunkHead* chunks[kTogether];
  const std::uint32_t ready = std::atomic_ref(g_segment.header->chunks_ready).load(std::memory_order_acquire);
  for (std::uint32_t next = 0; next < ready;) {
    std::uint32_t count = 0;
    for (; next < ready && count < kTogether; ++next) {
      ChunkHead* chunk = chunk_at(next);
      if (std::atomic_ref(chunk->state).load(std::memory_order_acquire) != kChunkFree) chunks[count++] = chunk;
    }
    sort_by_thread(chunks, count);
    hand_last_chunks(chunks, count);
  }
  write_last_rows();
}

void drain_rest(bool ask_kernel, bool last) {
  bool all = last || g_options.mode == kTrace;
  hand_open_chunks();
  write_strings();
  write_stacks();
  if (ask_kernel) ask_kernel_about_threads();
  // In this order: a thread that ends in between is in both, not in neither.
  if (all) write_changed_threads();
  if (last) write_shared_entry();
  drain_ended_threads(last);
  if (all && ask_kernel) write_living_short_waits();
  sum_up();
}

}  // namespace hostprobe::probe
