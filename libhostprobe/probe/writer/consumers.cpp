// consumers.cpp: see consumers.h.
#include "probe/writer/consumers.h"

#include <utility>

#include "probe/record/chunk.h"
#include "probe/record/own_work.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/writer/counters/aggregate.h"
#include "probe/writer/counters/thread_entries.h"
#include "probe/writer/flight.h"
#include "probe/writer/steps/step_search.h"

namespace hostprobe::probe {

HP_OF_RECORDING RecordBlock g_trace_block;

namespace {

using Modes = unsigned;  // a bit each
constexpr Modes in(Mode mode) { return 1u << mode; }
constexpr Modes kInAll = in(kMonitor) | in(kFlight) | in(kTrace);
constexpr Modes kInNone = 0;

struct Consumer {
  // The modes in which it takes chunks that were handed over, that are being filled, and that are left at the end.
  Modes full, open, last;
  // Slots [.., end) of a chunk, as far as it has not taken them.
  void (*take)(ChunkHead* chunk, std::uint32_t end);
  // Behind a batch of chunks, before their memory is another's; null: it has no use for that.
  void (*finish)();
};

void add_to_trace(ChunkHead* chunk, std::uint32_t end) { g_trace_block.add(chunk, end); }
void write_trace_block() { g_trace_block.write(); }
void keep(ChunkHead* chunk, std::uint32_t) { keep_chunk(chunk); }

// In this order. Rows become direct calls (sources/sources.cpp says why).
constexpr Consumer kConsumers[] = {
    // Where do steps end?
    {kInAll, kInAll, kInNone, see_records, nullptr},
    // Into the counters.
    {in(kMonitor), kInNone, in(kMonitor), aggregate, nullptr},
    // Into the file.
    {in(kTrace), in(kTrace), in(kTrace) | in(kFlight), add_to_trace, write_trace_block},
    // Into the memory of the last seconds.
    {in(kFlight), kInNone, kInNone, keep, nullptr},
};

template <Modes Consumer::*kWhen, std::size_t kRow>
void give(ChunkHead* chunk, std::uint32_t end) {
  if constexpr (kConsumers[kRow].*kWhen != kInNone)
    if ((kConsumers[kRow].*kWhen & in(static_cast<Mode>(g_options.mode))) != 0) kConsumers[kRow].take(chunk, end);
}

template <Modes Consumer::*kWhen, std::size_t kRow>
void finish() {
  if constexpr (kConsumers[kRow].*kWhen != kInNone && kConsumers[kRow].finish != nullptr)
    if ((kConsumers[kRow].*kWhen & in(static_cast<Mode>(g_options.mode))) != 0) kConsumers[kRow].finish();
}

template <Modes Consumer::*kWhen, std::size_t... kRow>
void hand(ChunkHead* chunk, std::uint32_t end, std::index_sequence<kRow...>) {
  (give<kWhen, kRow>(chunk, end), ...);
}
template <Modes Consumer::*kWhen, std::size_t... kRow>
void finish_all(std::index_sequence<kRow...>) {
  (finish<kWhen, kRow>(), ...);
}

constexpr auto kRows = std::make_index_sequence<sizeof kConsumers / sizeof *kConsumers>{};

void hand_batch(ChunkHead** chunks, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) hand<&Consumer::full>(chunks[i], last_complete(chunks[i]), kRows);
  finish_all<&Consumer::full>(kRows);
  for (std::uint32_t i = 0; i < count && g_options.mode != kFlight; ++i) recycle_chunk(chunks[i]);
}

}  // namespace

// Only the file has use for a batch; elsewhere each chunk is free at once.
void hand_full_chunks(ChunkHead** chunks, std::uint32_t count) {
  const std::uint32_t together = g_options.mode == kTrace ? count : 1;
  work_for(kShedLaunches, [&] {
    for (std::uint32_t first = 0; first < count; first += together) hand_batch(chunks + first, together);
  });
}

// A block for each chunk: what follows in it comes with the next look.
void hand_open_chunks() {
  if (!begin_step_look() && g_options.mode != kTrace) return;
  work_for(kShedLaunches, [] {
    for (std::uint32_t i = 0, end = threads_used(); i < end; ++i)
      if (ChunkHead* chunk = open_chunk_of(g_segment.threads[i])) {
        hand<&Consumer::open>(chunk, first_incomplete(chunk), kRows);
        finish_all<&Consumer::open>(kRows);
      }
    look_for_steps();
  });
}

void hand_last_chunks(ChunkHead** chunks, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) hand<&Consumer::last>(chunks[i], last_complete(chunks[i]), kRows);
  finish_all<&Consumer::last>(kRows);
}

}  // namespace hostprobe::probe
