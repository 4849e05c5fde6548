// round.cpp: see round.h. Who comes when stands here, and nothing else.
#include "probe/writer/round.h"

#include "probe/control/budget.h"
#include "probe/control/calibrate.h"
#include "probe/control/control.h"
#include "probe/control/limits.h"
#include "probe/record/chunk.h"
#include "probe/record/doors.h"
#include "probe/runtime/clock.h"
#include "probe/sources/sources.h"
#include "probe/sources/thread_times.h"
#include "probe/stacks/stacks.h"
#include "probe/writer/counters/short_wait_rows.h"
#include "probe/writer/counters/thread_entries.h"
#include "probe/writer/drain.h"
#include "probe/writer/dump.h"
#include "probe/writer/file/hook_table.h"
#include "probe/writer/file/modules.h"
#include "probe/writer/file/trace_file.h"
#include "probe/writer/flight.h"
#include "probe/writer/header_sums.h"
#include "probe/writer/own_entry.h"
#include "probe/writer/own_thread.h"
#include "probe/writer/trace.h"

namespace hostprobe::probe {

void prepare_rounds() {
  know_costs();
  refresh_limits();
  prepare_stacks();
}

void work_round() {
  const Round round{.now_ns = read_clock_ns(CLOCK_MONOTONIC), .own_descriptors = g_own_descriptors};
  begin_sources(round);
  // Records first: their threads wait for free chunks.
  drain_full_chunks();
  grow_pool();
  write_new_modules(false);
  age_kept_chunks();
  answer_trigger();
  drain_rest(thread_times_are_due(round.now_ns), false);
  write_hook_states();
  answer_control();
  // Behind the threads: what the kernel counts of them was read there.
  tick_sources(round);
  tend_fixes(false);
  // Last, by what all of it has cost.
  keep_to_budget();
  refresh_limits();
  refresh_header(kFileOpen);
}

bool work_last_round() {
  const Round round{.now_ns = read_clock_ns(CLOCK_MONOTONIC), .last = true, .own_descriptors = g_own_descriptors};
  const std::uint64_t before_ns = writers_cpu_ns();
  drain_full_chunks();
  write_new_modules(true);
  age_kept_chunks();
  answer_trigger();
  // While they can still be merged: once the rows of counters are written for the last time, no thread is.
  drain_ended_threads(false);
  drain_last_chunks();
  drain_rest(true, true);
  count_lost_short_waits();
  sum_up();
  note_refused_triggers();
  write_hook_states();
  answer_control();
  tick_sources(round);
  tend_fixes(true);
  refresh_limits();
  if (has_writer()) g_header.own_end_ns = writers_cpu_ns() - before_ns;
  return refresh_header(kFileClosed);
}

void work_between() {
  drain_full_chunks();
  grow_pool();
  drain_ended_threads(false);
  tend_sources_between();
}

}  // namespace hostprobe::probe
