// start_up.cpp: see start_up.h.
#include "probe/sources/start_up.h"

#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/writer/drain.h"
#include "probe/writer/file/counter_block.h"
#include "probe/writer/file/events.h"
#include "probe/writer/steps/live_steps.h"

namespace hostprobe::probe {
namespace {

constexpr std::uint64_t kPauseNs = 10'000'000'000;
HP_OF_RECORDING bool g_noted = false;
HP_OF_RECORDING std::uint64_t g_next_ns = 0;

}  // namespace

void note_start_up(std::uint64_t now_ns, bool last) {
  const std::uint64_t steps = live_step_count();
  if (g_options.mode != kMonitor || steps == 0) return;
  if (!g_noted && !last) {
    g_noted = true;
    aggregate_open_chunks();
    write_start_counters();
    note_event(kEventStepsKnown, 0, steps, main_run_delay_ns(), "");
  }
  if (!last && now_ns < g_next_ns) return;
  g_next_ns = now_ns + kPauseNs;
  write_row(kBlockSteps, live_step_counter());
}

}  // namespace hostprobe::probe
