// dump.cpp: see dump.h.
#include "probe/writer/dump.h"

#include <string.h>

#include "format/asked_trigger.h"
#include "probe/record/trigger.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/sources/sources.h"
#include "probe/writer/counters/aggregate.h"
#include "probe/writer/counters/short_wait_rows.h"
#include "probe/writer/counters/thread_entries.h"
#include "probe/writer/dump_chunks.h"
#include "probe/writer/file/events.h"

namespace hostprobe::probe {
namespace {

HP_OF_RECORDING std::uint32_t g_dumps = 0;  // number of the newest
HP_OF_RECORDING std::uint32_t g_dumps_removed = 0;
HP_OF_RECORDING std::uint64_t g_dump_bytes = 0;  // of all that are there
HP_OF_RECORDING std::uint64_t g_next_dump_ns = 0;
HP_OF_RECORDING Trigger g_refused_trigger;
HP_OF_RECORDING std::uint64_t g_refused = 0;

void remove_oldest_dump() {
  const std::uint64_t bytes = remove_dump(++g_dumps_removed);
  g_dump_bytes -= bytes < g_dump_bytes ? bytes : g_dump_bytes;
  note_event(kEventDumpGone, 0, g_dumps_removed, bytes, "HOSTPROBE_DUMPS_MB");
}

void write_dump(const Trigger& trigger) {
  std::uint32_t number = ++g_dumps;
  std::uint64_t records = 0;
  int error = 0;
  {
    DumpFile dump(number);
    records = dump_chunks(dump);
    write_all_threads();
    write_owned_short_waits(kBlockShortWaits);
    write_sums(kBlockCounters);
    dump_sources();
    error = dump.error();
    g_dump_bytes += dump.bytes();
  }
  note_event(kEventTrigger, trigger.reason, number, records, error == 0 ? trigger.text : strerrordesc_np(error));
  while (g_dump_bytes > g_options.dumps_mb << 20 && g_dumps_removed + 1 < g_dumps) remove_oldest_dump();
}

}  // namespace

void note_refused_triggers() {
  if (g_refused != 0) note_event(kEventTrigger, g_refused_trigger.reason, 0, g_refused, g_refused_trigger.text);
  g_refused = 0;
}

void answer_trigger() {
  Trigger trigger;
  if (!take_trigger(trigger) || g_options.mode != kFlight) return;
  std::uint64_t now = read_clock_ns(CLOCK_MONOTONIC);
  if (now < g_next_dump_ns && !is_asked_by_person(trigger.reason)) {
    ++g_refused;
    g_refused_trigger = trigger;
    return;
  }
  note_refused_triggers();
  write_dump(trigger);
  g_next_dump_ns = now + g_options.trigger_s * 1000000000u;
}

}  // namespace hostprobe::probe
