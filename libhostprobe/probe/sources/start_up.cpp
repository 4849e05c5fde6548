// start_up.cpp: see start_up.h.
#include "probe/sources/start_up.h"

#include "probe/record/chunk.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/sources/thread_times.h"
#include "probe/writer/counters/aggregate.h"
#include "probe/writer/counters/short_wait_rows.h"
#include "probe/writer/counters/thread_entries.h"
#include "probe/writer/file/counter_block.h"
#include "probe/writer/file/events.h"
#include "probe/writer/file/record_block.h"
#include "probe/writer/steps/live_steps.h"

namespace hostprobe::probe {
namespace {

constexpr std::uint64_t kPauseNs = 10'000'000'000;
HP_OF_RECORDING bool g_noted = false;
HP_OF_RECORDING std::uint64_t g_next_ns = 0;

// What threads have in the chunks that they are filling becomes counters.
void aggregate_open_chunks() {
  for (std::uint32_t i = 0, end = threads_used(); i < end; ++i)
    if (ChunkHead* chunk = open_chunk_of(g_segment.threads[i])) aggregate(chunk, first_incomplete(chunk));
}

}  // namespace

void note_start_up(const Round& round) {
  const std::uint64_t steps = live_step_count();
  if (g_options.mode != kMonitor || steps == 0) return;
  if (!g_noted && !round.last) {
    g_noted = true;
    aggregate_open_chunks();
    write_owned_short_waits(kBlockStartShortWaits);
    write_sums(kBlockStartCounters);
    note_event(kEventStepsKnown, 0, steps, main_run_delay_ns(), "");
  }
  if (!round.last && round.now_ns < g_next_ns) return;
  g_next_ns = round.now_ns + kPauseNs;
  write_row(kBlockSteps, live_step_counter());
}

}  // namespace hostprobe::probe
