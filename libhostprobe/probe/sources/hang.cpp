// hang.cpp: see hang.h. Chunks are looked at wherever they are in their life: those that were written and given back since
// the last look still hold their records. What progress is: live_tokens.h, where the search for steps has it from too. Price: two cache
// lines per chunk in which nothing is new; in a process that makes progress mostly the chunk that showed it last, some microseconds a second.
#include "probe/sources/hang.h"

#include <stdio.h>

#include <atomic>

#include "probe/record/chunk.h"
#include "probe/record/gate.h"
#include "probe/record/trigger.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/writer/file/record_block.h"
#include "probe/writer/steps/live_steps.h"
#include "probe/writer/steps/live_tokens.h"

namespace hostprobe::probe {
namespace {

constexpr std::uint64_t kLookNs = 1000000000;
// A call that ended just before a look may get its record just after it.
constexpr std::uint64_t kLateTicks = 3000000;

struct Watch {
  std::uint64_t looked_ns, looked_ticks;
  std::uint64_t quiet_ns;  // without progress
  bool armed;              // there was progress, and no trigger since
  bool has_work;           // there were records that are progress, so that ends of steps need not show it
  std::uint32_t chunk;     // that showed progress last
  StepEnds ends;
};
HP_OF_PROCESS Watch g_watch{};

// One past the newest record of this lap. Slots are filled in order; one that is not finished yet, or never will be, makes
// the answer a few records too small.
std::uint32_t end_of_records(const Record* slots, std::uint16_t lap) {
  std::uint32_t known = 0, beyond = kChunkRecords;
  while (known < beyond) {
    std::uint32_t middle = (known + beyond) / 2;
    if (is_complete(slots[middle], lap))
      known = middle + 1;
    else
      beyond = middle;
  }
  return known;
}

// Backwards from the newest one to those of the last look.
bool has_progress(const ChunkHead* chunk, std::uint64_t since_ticks) {
  std::uint16_t lap = __atomic_load_n(&chunk->lap, __ATOMIC_ACQUIRE);
  const auto* slots = reinterpret_cast<const Record*>(chunk + 1);
  for (std::uint32_t i = end_of_records(slots, lap); i > 0; --i) {
    const Record& r = slots[i - 1];
    if (!is_complete(r, lap)) continue;
    if (__atomic_load_n(&r.end_ticks, __ATOMIC_RELAXED) <= since_ticks) return false;
    if (row_facts(__atomic_load_n(&r.hook, __ATOMIC_RELAXED)).is_progress) return true;
  }
  return false;
}

// Round from the chunk that showed it last: the threads that make progress are where they were, or a few chunks further on, and other
// threads' chunks, of polls and waits, can be many and cold.
bool has_progress_since(std::uint64_t since_ticks) {
  const std::uint32_t ready = std::atomic_ref(g_segment.header->chunks_ready).load(std::memory_order_acquire);
  std::uint32_t at = g_watch.chunk < ready ? g_watch.chunk : 0;
  for (std::uint32_t looked = 0; looked < ready; ++looked, at = at + 1 < ready ? at + 1 : 0)
    if (has_progress(chunk_at(at), since_ticks)) {
      g_watch.chunk = at;
      return true;
    }
  return false;
}

void look(std::uint64_t now_ns) {
  Watch& w = g_watch;
  std::uint64_t now_ticks = ticks(), passed = now_ns - w.looked_ns;
  const StepEnds ends = live_step_ends();
  const bool works = has_progress_since(w.looked_ticks);
  // Where steps are made of waits alone, as on CPUs, only their ends are progress; once nothing shows these any more, nothing is known.
  const bool progress = works || ends.seen != w.ends.seen;
  const bool is_blind = !w.has_work && ends.lost != w.ends.lost;
  w.has_work = w.has_work || works;
  if (progress || is_blind) w.armed = progress;
  w.ends = ends;
  // Nothing is recorded in a pause. And a writer that comes back after a long time was suspended with its process.
  if (progress || g_gate.recording == 0 || passed > 10 * kLookNs)
    w.quiet_ns = 0;
  else
    w.quiet_ns += passed;
  w.looked_ns = now_ns;
  w.looked_ticks = now_ticks - kLateTicks;
}

}  // namespace

void watch_progress(const Round&) {
  std::uint64_t now_ns = read_clock_ns(CLOCK_MONOTONIC), limit_s = g_options.hang_s;
  if (limit_s == 0 || !mode_has_dumps() || now_ns < g_watch.looked_ns + kLookNs) return;
  look(now_ns);
  if (!g_watch.armed || g_watch.quiet_ns < limit_s * 1000000000u) return;
  g_watch.armed = false;
  char text[sizeof(Trigger::text)];
  snprintf(text, sizeof text, "no launch, collective or step for %llu s", static_cast<unsigned long long>(limit_s));
  request_trigger(kByHang, text);
}

std::uint64_t quiet_ns() { return g_watch.armed ? g_watch.quiet_ns : 0; }

}  // namespace hostprobe::probe
