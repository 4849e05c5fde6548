// status.cpp: see status.h.
#include "probe/control/status.h"

#include <atomic>

#include "probe/control/own_cost.h"
#include "probe/record/chunk.h"
#include "probe/record/gate.h"
#include "probe/record/trigger.h"
#include "probe/runtime/options.h"
#include "probe/writer/counters/thread_entries.h"
#include "probe/writer/counters/totals.h"
#include "probe/writer/file/trace_file.h"
#include "probe/writer/steps/live_steps.h"

namespace hostprobe::probe {
namespace {

const char* reason_name(TriggerReason reason) {
  switch (reason) {
    case kBySlowStep:
      return "slow_step";
    case kBySignal:
      return "signal";
    case kByCommand:
      return "command";
    case kByProgram:
      return "program";
    case kByHang:
      return "hang";
  }
  return "unknown";
}

using Big = unsigned long long;

}  // namespace

void tell_status(Answer& answer) {
  const SegmentHeader& h = *g_segment.header;
  std::uint64_t ready = std::atomic_ref(g_segment.header->chunks_ready).load(std::memory_order_relaxed);
  answer.add("mode %s\nrecording %d\nsince_ns %llu\n", mode_name(), g_gate.recording != 0, Big{gate_moved_ns()});
  answer.add("records %llu\nlost %llu\nthreads %u\n", Big{g_header.records + records_in_memory()}, Big{g_header.lost},
             living_threads());
  answer.add("buffer_bytes %llu\nbuffer_most_bytes %llu\n", Big{ready * kChunkBytes}, Big{h.chunk_count} * kChunkBytes);
  answer.add("steps_from %s\nsteps %llu\nstep_ns %llu\n", live_source_name(live_source()), Big{live_step_count()},
             static_cast<Big>(live_step_median_ns()));
  const Cost cost = cost_between(cost_at_start(), read_cost());
  answer.add("own_cost %llu\n", Big{cost.threads + cost.own_thread});
  char line[64];
  for (unsigned i = 0; describe_option(i, line, sizeof line); ++i) answer.add("set %s\n", line);
  LastTrigger last;
  if (!last_trigger(last)) return;
  answer.add("trigger_number %llu\ntrigger_ns %llu\ntrigger_reason %s\ntrigger_text %s\n", Big{last.number},
             Big{last.realtime_ns}, reason_name(last.trigger.reason), last.trigger.text);
}

}  // namespace hostprobe::probe
