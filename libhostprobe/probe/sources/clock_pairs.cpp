// clock_pairs.cpp: see clock_pairs.h.
#include "probe/sources/clock_pairs.h"

#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/writer/file/trace_file.h"

namespace hostprobe::probe {
namespace {

constexpr std::uint64_t kPauseNs = 2000000000;
HP_OF_PROCESS std::uint64_t g_next_ns = 0;

}  // namespace

void write_clock() {
  ClockPair pair = read_clock_pair();
  iovec part{&pair, sizeof pair};
  append_block(kBlockClock, &part, 1);
}

void note_clock(const Round& round) {
  if (!round.last && (g_options.mode != kTrace || round.now_ns < g_next_ns)) return;
  write_clock();
  g_next_ns = round.now_ns + kPauseNs;
}

}  // namespace hostprobe::probe
