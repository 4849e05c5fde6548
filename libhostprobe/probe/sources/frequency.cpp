// frequency.cpp: see frequency.h.
//
// Price: docs/decisions/0028-frequency.md. What it takes is CPU time of hostprobe's own thread, which is in its cost.
#include "probe/sources/frequency.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/frequency.h"
#include "probe/record/gate.h"
#include "probe/runtime/at_start.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/runtime/small_file.h"
#include "probe/sources/perf/perf_ring.h"
#include "probe/sources/watched_threads.h"
#include "probe/writer/file/row_ring.h"

namespace hostprobe::probe {
namespace {

constexpr std::uint64_t kPauseNs = 3000000000, kLongestPauseNs = 16 * kPauseNs;
constexpr std::uint64_t kLateNs = 20000000;  // it had to wait for that CPU: seldomer from now on
constexpr std::uint32_t kAdditions = 8192, kChains = 3;
constexpr unsigned kMostAsked = 4;  // threads, until one runs

constexpr std::uint32_t kRows = 512;
HP_KEPT_BY_CHILDREN FrequencyRow g_rows[kRows];
HP_OF_RECORDING RowRing<FrequencyRow, kRows> g_ring;
HP_OF_RECORDING std::uint64_t g_next_ns = 0, g_pause_ns = 0;
HP_OF_RECORDING unsigned g_turn = 0;
HP_OF_RECORDING std::uint16_t g_disturbed = 0;
enum class Permission : std::uint8_t { kUnknown, kGiven, kRefused };
HP_OF_PROCESS Permission g_permission = Permission::kUnknown;

struct Where {
  std::uint32_t tid;
  unsigned cpu;
};

bool find_where(std::uint32_t tid, Where& out) {
  char path[64], line[512];
  snprintf(path, sizeof path, "/proc/self/task/%u/stat", tid);
  out.tid = tid;
  return tid != 0 && read_small_file(path, line, sizeof line) && runs_on(line, out.cpu);
}

// The main thread, or the heaviest, three times of four, so that its own CPUs are known well; the others in turn.
bool choose_where(Where& out) {
  constexpr unsigned kOthersEach = 4;
  unsigned watched = 0;
  while (watched < kWatchedThreads && watched_thread(watched) != 0) ++watched;
  if (watched < 2 || ++g_turn % kOthersEach != 0) return find_where(watched_thread(0), out);
  for (unsigned i = 0; i < kMostAsked; ++i)
    if (find_where(watched_thread(1 + (g_turn / kOthersEach + i) % (watched - 1)), out)) return true;
  return false;
}

// On whichever CPU it is; false where that is not, or no longer, the wanted one, or something came between.
bool measure(unsigned cpu, std::uint32_t& chain_ticks) {
  std::uint32_t all[kChains];
  for (std::uint32_t& one : all) {
    const std::uint64_t begin = ticks();
    add_in_chain(kAdditions / 16);
    one = static_cast<std::uint32_t>(ticks() - begin);
    if (sched_getcpu() != static_cast<int>(cpu)) return false;
  }
  chain_ticks = agreed_ticks(all, kChains);
  return chain_ticks != 0;
}

bool may_move() {
  if (g_permission == Permission::kUnknown)
    g_permission = may_ask_for_perf_events() ? Permission::kGiven : Permission::kRefused;
  return g_permission == Permission::kGiven;
}

bool measure_at(unsigned cpu, std::uint32_t& chain_ticks) {
  if (sched_getcpu() == static_cast<int>(cpu)) return measure(cpu, chain_ticks);
  constexpr unsigned kMostCpus = 8192;
  unsigned char kept[kMostCpus / 8], wanted[kMostCpus / 8] = {};
  if (cpu >= kMostCpus || !may_move()) return false;
  const long bytes = system_call(SYS_sched_getaffinity, 0, sizeof kept, word_of_pointer(kept));
  if (bytes <= 0) return false;
  wanted[cpu / 8] = static_cast<unsigned char>(1u << cpu % 8);
  if (system_call(SYS_sched_setaffinity, 0, bytes, word_of_pointer(wanted)) != 0) return false;
  const bool is_measured = measure(cpu, chain_ticks);
  system_call(SYS_sched_setaffinity, 0, bytes, word_of_pointer(kept));
  return is_measured;
}

bool is_on() { return g_options.samples != 0 && g_options.mode != kMonitor && g_gate.recording != 0; }

void measure_once() {
  Where where;
  if (!choose_where(where)) return;
  const std::uint64_t begin_ns = read_clock_ns(CLOCK_MONOTONIC);
  std::uint32_t chain_ticks = 0;
  if (measure_at(where.cpu, chain_ticks)) {
    g_ring.add(g_rows,
               {ticks(), kAdditions, chain_ticks, where.tid, static_cast<std::uint16_t>(where.cpu), g_disturbed});
    g_disturbed = 0;
  } else if (g_disturbed < UINT16_MAX) {
    ++g_disturbed;
  }
  const std::uint64_t took_ns = read_clock_ns(CLOCK_MONOTONIC) - begin_ns;
  g_pause_ns = took_ns < kLateNs ? kPauseNs : 2 * g_pause_ns < kLongestPauseNs ? 2 * g_pause_ns : kLongestPauseNs;
}

}  // namespace

bool runs_on(const char* line, unsigned& cpu) {
  constexpr unsigned kProcessor = 39, kPolicy = 41, kStateField = 3;
  const char* at = strrchr(line, ')');
  if (at == nullptr || strncmp(at, ") R ", 4) != 0) return false;
  at += 2;
  for (unsigned field = kStateField; field < kProcessor; ++field)
    if ((at = strchr(at, ' ')) == nullptr || *++at < '-') return false;
  char* next = nullptr;
  cpu = static_cast<unsigned>(strtoul(at, &next, 10));
  strtoul(next, &next, 10);  // its real-time priority
  const char* policy = next;
  const unsigned long number = strtoul(policy, &next, 10);
  static_assert(kPolicy == kProcessor + 2);
  return next != policy && (number == SCHED_OTHER || number == SCHED_BATCH);
}

std::uint32_t agreed_ticks(const std::uint32_t* ticks, std::size_t count) {
  std::uint32_t least = UINT32_MAX, next = UINT32_MAX;
  for (std::size_t i = 0; i < count; ++i) {
    if (ticks[i] < least) {
      next = least;
      least = ticks[i];
    } else if (ticks[i] < next) {
      next = ticks[i];
    }
  }
  return next == UINT32_MAX || next - least > least / 50 ? 0 : least;
}

void write_frequency() { g_ring.write(g_rows, kBlockFrequency); }

void note_frequency(const Round& round) {
  if (!round.last && !round.shed && is_on() && round.now_ns >= g_next_ns) {
    measure_once();
    g_next_ns = round.now_ns + (g_pause_ns == 0 ? kPauseNs : g_pause_ns);
  }
  if (round.last || g_options.mode == kTrace) write_frequency();
}

}  // namespace hostprobe::probe
